"""What can be configured, read once at start: the only place that reads ``HEADWATER_…`` variables."""

import difflib
import os
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import pydantic
from pydantic import AfterValidator, BeforeValidator, ByteSize, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from headwater.errors import HeadwaterError, ValidationError
from headwater.ids import check_schema, check_scope_part
from headwater.lexical import DEFAULT_LANGUAGE, LANGUAGES, check_language
from headwater.sensitivity import allowed_levels
from workers.lengths import length

PREFIX: Final = "HEADWATER_"
_KIND: Final = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")


class SettingsError(HeadwaterError, ValueError):
    """A variable holds what it cannot hold. The message names the variable and never repeats a secret."""


def _schema_name(value: str) -> str:
    try:
        return check_schema(value)
    except ValidationError as error:
        raise ValueError(str(error)) from error


def _absolute(value: Path) -> Path:
    try:
        return Path(os.path.abspath(value.expanduser()))
    except RuntimeError as error:
        raise ValueError("begins with ~, and this user has no home directory") from error


def _language(value: str) -> str:
    try:
        return check_language(value)
    except ValidationError:
        raise ValueError(f"must be one of {', '.join(sorted(LANGUAGES))}") from None


def _listed(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _labels(value: tuple[str, ...]) -> tuple[str, ...]:
    try:
        allowed_levels(value, "it")
    except ValidationError as error:
        raise ValueError(str(error)) from None
    return value


def _interval(value: str) -> str:
    every = length(value)
    if value != "off" and not (every and timedelta(minutes=1) <= every <= timedelta(days=365)):
        raise ValueError(
            "must be a number with s, m, h or d, of a minute at least and a year at most: 15m, 1h, 1d; or off"
        )
    return value


def _collector(value: str) -> str:
    usable = "must be the address of a collector: http://localhost:4318"
    try:
        url = urlsplit(value)
        port = url.port
    except ValueError:
        raise ValueError(usable) from None
    if url.scheme not in ("http", "https") or not url.hostname or port == 0:
        raise ValueError(usable)
    if "@" in url.netloc or url.query or url.fragment:
        raise ValueError("must be an address alone: what is secret goes into OTEL_EXPORTER_OTLP_HEADERS")
    return value.rstrip("/")


def _service_principals(value: tuple[str, ...]) -> tuple[str, ...]:
    for each in value:
        tenant, colon, principal = each.partition(":")
        if not colon or not principal:
            raise ValueError(f"{each!r} must be written TENANT:PRINCIPAL")
        _tenants((tenant,))
    return value


def _handlers(value: tuple[str, ...]) -> tuple[str, ...]:
    known = {"rag"}
    for each in value:
        kind, equals, where = each.partition("=")
        queue, colon, activity = where.partition(":")
        if not (equals and colon and queue and activity) or not _KIND.match(kind):
            raise ValueError(f"{each!r} must be written KIND=TASK-QUEUE:ACTIVITY, with a kind of A-Z a-z 0-9 . _ -")
        if kind in known:
            raise ValueError(f"{kind} has a handler already: give each kind one")
        known.add(kind)
    return value


def _split(handlers: tuple[str, ...]) -> list[tuple[str, str, str]]:
    split = ((kind, *where.partition(":")) for kind, _, where in (each.partition("=") for each in handlers))
    return [(kind, queue, activity) for kind, queue, _, activity in split]


def _tenants(value: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(check_scope_part(tenant, "tenant") for tenant in value)
    except ValidationError as error:
        raise ValueError(str(error)) from error


class Settings(BaseSettings):
    """Every setting with its default. `headwater config` prints it with secrets hidden."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="ignore")

    database_url: SecretStr | None = Field(
        default=None,
        description="PostgreSQL to use (with TEMPORAL_ADDRESS); unset: the embedded services under HEADWATER_HOME",
    )
    home: Annotated[Path, AfterValidator(_absolute)] = Field(
        default=Path("~/.headwater"),
        validate_default=True,
        description="Folder of the embedded services, kept at mode 0700",
    )
    schema_name: Annotated[str, AfterValidator(_schema_name)] = Field(
        default="headwater", validation_alias=f"{PREFIX}SCHEMA", description="PostgreSQL schema that holds all tables"
    )
    embedder: str = Field(
        default="onnx:minilm",
        min_length=1,
        description="Embedder of new corpora: onnx:minilm, onnx:/path/to/folder or hash:384; a corpus keeps its own",
    )
    chunk_size: int = Field(default=1000, ge=1, le=16_384, description="Most characters of a chunk, for new corpora")
    chunk_overlap: int = Field(
        default=100, ge=0, le=4_096, description="Characters a chunk shares with the one before, for new corpora"
    )
    language: Annotated[str, AfterValidator(_language)] = Field(
        default=DEFAULT_LANGUAGE,
        description="Language whose words are stemmed, for new corpora (reindex --language for others): english, german, …; none: of many",
    )
    max_document_bytes: ByteSize = Field(
        default=ByteSize(32 * 1024 * 1024),
        gt=0,
        description="Documents of more bytes are not read (too_large); 32MiB is accepted",
    )
    tenants: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed), AfterValidator(_tenants)] = Field(
        default=(), description="Tenants these workers serve, separated by commas; others' tasks fail here; empty: all"
    )
    service_principals: Annotated[
        tuple[str, ...], NoDecode, BeforeValidator(_listed), AfterValidator(_service_principals)
    ] = Field(
        default=(),
        description="Principals that may delete along lineage and rename without a grant, as tenant:principal, by commas",
    )
    deletion_handlers: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed), AfterValidator(_handlers)] = (
        Field(
            default=(),
            description="Activities of hosts that remove what they derived, as kind=task-queue:activity, separated by commas",
        )
    )
    repoint_handlers: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed), AfterValidator(_handlers)] = Field(
        default=(),
        description="Activities of hosts that rename sources in their own records, as kind=task-queue:activity, by commas",
    )
    keep_generations: int = Field(
        default=100, ge=0, description="Generations that can be gone back to; older ones are collected"
    )
    keep_days: float = Field(default=7.0, ge=0, description="Days that any generation is kept, however many there are")
    partition_chunks: int = Field(
        default=20_000, ge=1, description="Chunks from which a corpus gets a partition with an index of its own"
    )
    collect_every: Annotated[str, AfterValidator(_interval)] = Field(
        default="1h",
        description="How often `up` and `worker` have garbage collected: 15m, 1h, 1d; off: they make no schedule",
    )
    hosted_sensitivities: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed), AfterValidator(_labels)] = (
        Field(
            default=(),
            description="Labels of passages that may be sent to a reranker outside, by commas: public, internal, …; empty: none",
        )
    )
    rerank_key_file: Annotated[Path, AfterValidator(_absolute)] | None = Field(
        default=None, description="File with the key to the reranker that --rerank names; read at each request"
    )
    rerank_key_variable: str | None = Field(
        default=None, description="Environment variable that holds this key, where it is in no file"
    )
    rerank_allow_private: bool = Field(
        default=False, description="Whether --rerank may name a server of a network inside, over https"
    )
    otlp_endpoint: Annotated[str, AfterValidator(_collector)] | None = Field(
        default=None,
        description="Collector to which workers send OpenTelemetry spans of indexing, as http://localhost:4318; unset: none",
    )
    log_format: Literal["console", "json"] = Field(
        default="console", description="Form of the logs on stderr: console or json"
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        # The environment and nothing else: what `headwater config` calls a value's origin stays a yes or no.
        return (env_settings,)

    @field_validator("database_url")
    @classmethod
    def _is_postgres(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(("postgresql://", "postgres://")):
            raise ValueError("must begin with postgresql://")
        return value

    @model_validator(mode="after")
    def _overlap_is_smaller(self) -> "Settings":
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError(
                f"{PREFIX}CHUNK_OVERLAP ({self.chunk_overlap}) must be smaller than {PREFIX}CHUNK_SIZE ({self.chunk_size})"
            )
        return self

    @property
    def uses_configured_services(self) -> bool:
        return self.database_url is not None

    @property
    def granted_services(self) -> list[tuple[str, str]]:
        """The service principals as (tenant, principal)."""
        return [(tenant, name) for tenant, _, name in (each.partition(":") for each in self.service_principals)]

    @property
    def deletion_layers(self) -> list[tuple[str, str, str]]:
        """The deletion handlers of hosts as (kind, task queue, activity)."""
        return _split(self.deletion_handlers)

    @property
    def repoint_layers(self) -> list[tuple[str, str, str]]:
        """The move handlers of hosts as (kind, task queue, activity)."""
        return _split(self.repoint_handlers)

    @property
    def collects_every(self) -> timedelta | None:
        """How often garbage is collected by itself; None: never."""
        return length(self.collect_every)

    def is_given(self, field: str) -> bool:
        """Whether the environment set ``field``, rather than its default."""
        return field in self.model_fields_set


def variable_of(field: str) -> str:
    """The environment variable that sets ``field``."""
    return f"{PREFIX}SCHEMA" if field == "schema_name" else f"{PREFIX}{field.upper()}"


def load_settings() -> Settings:
    """The settings of this process's environment."""
    try:
        return Settings()
    except pydantic.ValidationError as error:
        raise SettingsError(_sentence(error.errors(include_url=False, include_input=False)[0])) from None


def _sentence(fault: Mapping[str, Any]) -> str:
    # Pydantic's own texts repeat no value once the input is left out; the URL's password must not be shown.
    message = str(fault["msg"]).removeprefix("Value error, ").rstrip(".")
    if not fault["loc"]:
        return f"{message}."
    name = str(fault["loc"][0])
    variable = name if name.startswith(PREFIX) else variable_of(name)
    return f"{variable} is not usable: {message[:1].lower()}{message[1:]}."


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """One sentence for each ``HEADWATER_…`` variable that nothing reads: most are misspelt."""
    known = [variable_of(field) for field in Settings.model_fields]
    sentences = []
    for name in sorted(environ):
        # HEADWATER_TEST_… belongs to the test suite.
        if not name.startswith(PREFIX) or name.startswith(f"{PREFIX}TEST_") or name in known:
            continue
        # Compared without the prefix they all share: with it, everything looks close.
        close = difflib.get_close_matches(name.removeprefix(PREFIX), [v.removeprefix(PREFIX) for v in known], n=1)
        sentences.append(f"{name} is not a setting" + (f"; {PREFIX}{close[0]} is." if close else "."))
    return sentences
