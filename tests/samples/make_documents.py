"""Makes the PDF files of the handbook: two good ones and a damaged one.

    .venv/bin/python -m tests.samples.make_documents

The same input gives the same bytes, so a second run changes nothing. The other documents are written by hand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Flowable, PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table

HANDBOOK = Path(__file__).parent / "handbook"


@dataclass(frozen=True)
class Section:
    heading: str
    paragraphs: Sequence[str] = ()
    table: Sequence[Sequence[str]] = ()
    starts_page: bool = False


JUNE_MINUTES = [
    Section(
        "Minutes of the board, 18 June 2026",
        [
            (
                "Present: Callum Baird (chair), Ines Okafor (secretary), Yvette Maes, Dr Hiroshi Tanabe. Guests: Ruaridh Sim "
                "for item 2, Tobias Achterberg for items 3 and 4. Ghent, 9:30 to 13:10."
            ),
            "The minutes of 19 March were approved without changes.",
        ],
    ),
    Section(
        "1. Project Cormorant",
        [
            (
                "The letter of intent with Fjordsonde AS was signed on 22 April. The examination of their books found a "
                "guarantee of 0.4 million euros for a bank loan of a sister company. The board is willing to close at 5.2 "
                "million euros once the guarantee is released, and not before. The deadline for it is 30 September 2026."
            ),
            (
                "Yvette Maes reported on her visit to the laboratory in Bergen: good people, old benches. She reckons with "
                "250,000 euros of investment in the first year."
            ),
        ],
    ),
    Section(
        "2. Optical windows",
        [
            (
                "A second supplier for the sapphire windows, in Jena, has delivered twelve samples. All passed the pressure "
                "test at 25 bar. Series delivery can begin in November at a price 11 per cent above today's. Approved."
            ),
        ],
    ),
    Section(
        "3. Figures of the first five months",
        ["Turnover is 4 per cent above the plan, the result 12 per cent below it, because of freight and the yen."],
        [
            ["million euros", "plan", "actual"],
            ["turnover", "9.1", "9.5"],
            ["result", "0.62", "0.55"],
            ["orders in hand", "6.0", "7.3"],
        ],
        starts_page=True,
    ),
    Section(
        "4. Incident of 9 May",
        [
            (
                "Alarms for Harbour Trust were eleven minutes late. The board read the retrospective, thanked the engineers "
                "for its openness, and released 40,000 euros for the second ingest queue and for two exercises a year."
            ),
            "The customer has been offered three months of the service without charge.",
        ],
    ),
    Section("5. Next meeting", ["17 September 2026, by video. The chair closed the meeting at 13:10."]),
]

PRICE_LIST = [
    Section(
        "Price list, Europe, from 1 October 2026",
        ["All prices in euros, without tax, free to door within the European Union. Valid until 30 September 2027."],
    ),
    Section(
        "The service",
        [
            (
                "TarnView costs 29 euros for each probe and month, 24 from the tenth probe on, and 19 from the fiftieth. The "
                "mobile network is included for one session in six hours; more sessions cost 6 euros a month."
            ),
            "Schools and volunteer groups at rivers pay half. Ask us for the form.",
        ],
    ),
    Section(
        "Probes and gateways",
        table=[
            ["number", "article", "price"],
            ["TW-4", "probe, five sensors, polyamide, 50 m", "4,850"],
            ["TW-4D", "probe, five sensors, titanium, 200 m", "6,900"],
            ["TW-4W", "probe for waste water", "5,450"],
            ["TW-4S", "short probe for cable, no battery", "4,200"],
            ["TG-2", "gateway, two SIM cards", "1,190"],
            ["TS-20", "solar set for the gateway", "340"],
        ],
    ),
    Section(
        "Wear and calibration",
        ["A calibration in our laboratory takes five working days, and the certificate is part of it."],
        [
            ["number", "article", "price"],
            ["TX-3", "oxygen cap with code", "165"],
            ["TX-4", "pH and redox electrode", "240"],
            ["TX-5", "wiper blades, five", "48"],
            ["TP-4", "battery pack", "118"],
            ["CAL-5", "calibration of all five sensors", "390"],
        ],
        starts_page=True,
    ),
    Section(
        "Terms",
        [
            (
                "Payment within 30 days. Two per cent off within ten. Delivery in three weeks for up to ten probes. Unused "
                "probes in their box are taken back within 60 days for 90 per cent of the price."
            ),
        ],
    ),
]


def write_pdf(path: Path, *, title: str, sections: Sequence[Section]) -> None:
    styles = getSampleStyleSheet()
    story: list[Flowable] = []
    for section in sections:
        if section.starts_page:
            story.append(PageBreak())
        story.append(Paragraph(section.heading, styles["Heading2"]))
        story.extend(Paragraph(paragraph, styles["BodyText"]) for paragraph in section.paragraphs)
        if section.table:
            story.extend([Spacer(1, 8), Table([list(row) for row in section.table], hAlign="LEFT")])
    # `invariant` leaves out the time and the random id, so that the same text gives the same bytes.
    document = SimpleDocTemplate(str(path), pagesize=A4, title=title, author="Tarnfield Instruments", invariant=1)
    document.build(story)


def write_damaged_pdf(path: Path, *, intact: Path) -> None:
    """What a scanner leaves behind when its transfer breaks off: a proper head, then half a file."""
    data = intact.read_bytes()
    path.write_bytes(data[: len(data) // 3])


def main() -> None:
    write_pdf(HANDBOOK / "board/minutes-2026-06.pdf", title="Minutes of the board, June 2026", sections=JUNE_MINUTES)
    write_pdf(HANDBOOK / "product/price-list.pdf", title="Price list, Europe", sections=PRICE_LIST)
    write_damaged_pdf(HANDBOOK / "finance/scan of the lease.pdf", intact=HANDBOOK / "product/price-list.pdf")


if __name__ == "__main__":
    main()
