"""What the environment may say, and what is said about the rest."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from headwater.chunking.profile import ChunkingProfile
from headwater.errors import HeadwaterError
from headwater.ids import check_schema
from workers.settings import Settings, SettingsError, load_settings, unknown_variables, variable_of


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for field in Settings.model_fields:
        monkeypatch.delenv(variable_of(field), raising=False)


def test_without_an_environment_everything_has_a_default() -> None:
    settings = load_settings()
    assert settings.home == Path.home() / ".headwater"
    assert settings.database_url is None
    assert (settings.schema_name, settings.embedder, settings.log_format) == ("headwater", "onnx:minilm", "console")
    assert (settings.chunk_size, settings.chunk_overlap) == (1000, 100)
    assert settings.max_document_bytes == 32 * 1024 * 1024
    assert settings.tenants == ()
    assert not any(settings.is_given(field) for field in Settings.model_fields)


def test_the_environment_sets_each_of_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given = {
        "DATABASE_URL": "postgresql://u:p@localhost/db",
        "HOME": str(tmp_path),
        "SCHEMA": 'Ä "b" %',
        "EMBEDDER": "hash:64",
        "CHUNK_SIZE": "500",
        "CHUNK_OVERLAP": "0",
        "MAX_DOCUMENT_BYTES": "10MiB",
        "LANGUAGE": "German",
        "TENANTS": "a, b",
        "SERVICE_PRINCIPALS": "a:cleaner, b:x:y",
        "DELETION_HANDLERS": "wiki=my-wiki:pages.Remove, notes=q:a:b",
        "REPOINT_HANDLERS": "wiki=my-wiki:pages.Rename",
        "KEEP_GENERATIONS": "3",
        "KEEP_DAYS": "0.5",
        "PARTITION_CHUNKS": "5000",
        "COLLECT_EVERY": "15m",
        "LOG_FORMAT": "json",
        "OTLP_ENDPOINT": "https://collector.example:4318/",
        "HOSTED_SENSITIVITIES": "public, Internal",
        "RERANK_KEY_FILE": str(tmp_path / "key"),
        "RERANK_KEY_VARIABLE": "JINA_KEY",
        "RERANK_ALLOW_PRIVATE": "true",
    }
    for name, value in given.items():
        monkeypatch.setenv(f"HEADWATER_{name}", value)
    settings = load_settings()
    assert settings.home == tmp_path
    assert settings.schema_name == 'Ä "b" %'
    assert settings.max_document_bytes == 10 * 1024 * 1024
    assert settings.language == "german"
    assert settings.tenants == ("a", "b")
    assert settings.granted_services == [("a", "cleaner"), ("b", "x:y")]
    assert settings.deletion_layers == [("wiki", "my-wiki", "pages.Remove"), ("notes", "q", "a:b")]
    assert settings.repoint_layers == [("wiki", "my-wiki", "pages.Rename")]
    assert settings.collects_every == timedelta(minutes=15)
    assert settings.otlp_endpoint == "https://collector.example:4318"
    assert settings.hosted_sensitivities == ("public", "Internal")
    assert all(settings.is_given(field) for field in Settings.model_fields)


def test_collecting_by_itself_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().collects_every == timedelta(hours=1)
    monkeypatch.setenv("HEADWATER_COLLECT_EVERY", "off")
    assert load_settings().collects_every is None


def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", "")
    assert not load_settings().uses_configured_services


def test_a_relative_home_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADWATER_HOME", "here")
    assert load_settings().home == tmp_path / "here"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "mysql://u:hidden@h/db"),
        ("HOME", "~nobody-has-this-name/x"),
        ("SCHEMA", "pg_mine"),
        ("SCHEMA", "s" * 57),
        ("CHUNK_SIZE", "hidden"),
        ("CHUNK_SIZE", "16385"),
        ("CHUNK_OVERLAP", "-1"),
        ("CHUNK_OVERLAP", "1000"),
        ("MAX_DOCUMENT_BYTES", "0"),
        ("LANGUAGE", "hidden"),
        ("TENANTS", "a,b/c"),
        ("DELETION_HANDLERS", "wiki"),
        ("DELETION_HANDLERS", "wiki=queue"),
        ("DELETION_HANDLERS", "wi ki=queue:remove"),
        ("DELETION_HANDLERS", "wiki=q:a,wiki=q:b"),
        ("DELETION_HANDLERS", "rag=q:a"),
        ("REPOINT_HANDLERS", "wiki=q:a,wiki=q:b"),
        ("COLLECT_EVERY", "5x"),
        ("COLLECT_EVERY", "59s"),
        ("COLLECT_EVERY", "999999d"),
        ("LOG_FORMAT", "hidden"),
        ("OTLP_ENDPOINT", "hidden:4317"),
        ("OTLP_ENDPOINT", "http://collector:hidden"),
        ("OTLP_ENDPOINT", "grpc://hidden"),
        ("OTLP_ENDPOINT", "http://user:hidden@collector"),
        ("OTLP_ENDPOINT", "http://collector?key=hidden"),
    ],
)
def test_a_wrong_value_is_one_sentence_with_the_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"HEADWATER_{name}", value)
    with pytest.raises(SettingsError) as raised:
        load_settings()
    sentence = str(raised.value)
    assert sentence.startswith(f"HEADWATER_{name} ")
    assert "\n" not in sentence
    assert "hidden" not in sentence
    # Neither the message nor what it was raised from may show a password.
    assert raised.value.__cause__ is None


def test_every_setting_is_described() -> None:
    assert all(field.description for field in Settings.model_fields.values())


@pytest.mark.parametrize("schema", ["pg_x", "s" * 56, "s" * 57, "ü" * 28, "ü" * 29, 'a "b" %'])
def test_the_settings_take_the_schemas_that_the_library_takes(monkeypatch: pytest.MonkeyPatch, schema: str) -> None:
    monkeypatch.setenv("HEADWATER_SCHEMA", schema)
    assert _is_taken(lambda: load_settings()) == _is_taken(lambda: check_schema(schema))


@pytest.mark.parametrize(("size", "overlap"), [(1, 0), (16_384, 4_096), (16_385, 0), (5_000, 4_097), (10, 10)])
def test_the_chunker_takes_the_sizes_that_the_settings_take(
    monkeypatch: pytest.MonkeyPatch, size: int, overlap: int
) -> None:
    monkeypatch.setenv("HEADWATER_CHUNK_SIZE", str(size))
    monkeypatch.setenv("HEADWATER_CHUNK_OVERLAP", str(overlap))
    assert _is_taken(lambda: load_settings()) == _is_taken(lambda: ChunkingProfile(size, overlap))


def test_a_misspelt_variable_is_named_with_the_one_that_was_meant() -> None:
    environ = {"HEADWATER_EMBEDER": "x", "HEADWATER_FROBNICATE": "x", "HEADWATER_TEST_DATA": "x", "HEADWATER_HOME": "x"}
    assert unknown_variables(environ) == [
        "HEADWATER_EMBEDER is not a setting; HEADWATER_EMBEDDER is.",
        "HEADWATER_FROBNICATE is not a setting.",
    ]


def _is_taken(make: Callable[[], object]) -> bool:
    try:
        make()
    except HeadwaterError:
        return False
    return True
