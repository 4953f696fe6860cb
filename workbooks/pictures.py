"""Makes the README's pictures from the built workbook: a sheet as LibreOffice prints it, on one page."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from openpyxl import load_workbook
from openpyxl.worksheet.page import PageMargins
from openpyxl.worksheet.pagebreak import ColBreak, RowBreak
from openpyxl.worksheet.properties import PageSetupProperties

HERE = Path(__file__).parent
RESOLUTION = 150
A4_WIDTH = 11.69


@dataclass(frozen=True)
class Picture:
    """A sheet, the range of it ("": all that is printed), how high it is in inches (A4 is 11.69 wide), and the workbook."""

    name: str
    sheet: str
    cells: str
    inches: float
    book: str = "rlhf_ppo.xlsx"


PICTURES = (
    *(
        Picture(name, "One page", "", inches, book)
        for name, inches, book in (
            ("one-page", 5.3, "rlhf_ppo.xlsx"),
            ("one-page-grpo", 4.4, "grpo.xlsx"),
            ("one-page-dpo", 3.3, "dpo.xlsx"),
            ("one-page-sft", 4.1, "sft.xlsx"),
            ("one-page-reward-model", 5.2, "reward-model.xlsx"),
            ("one-page-classic", 3.8, "classic.xlsx"),
            ("one-page-reinforce", 3.3, "reinforce.xlsx"),
            ("one-page-optimum", 6.2, "optimum.xlsx"),
            ("one-page-kl-controller", 5.3, "kl-controller.xlsx"),
            ("one-page-epochs", 5.3, "epochs.xlsx"),
            ("one-page-very-very-sleepy", 3.6, "very-very-sleepy.xlsx"),
        )
    ),
    Picture("start", "Start", "A1:N32", 4.8),
    Picture("old-policy", "Old policy", "A1:Z75", 7.6),
    Picture("reward-and-advantage", "Reward & advantage", "A1:Z34", 4.6),
    Picture("walk", "Walk", "A1:G49", 5.6),
    Picture("grpo-groups", "Groups", "A1:Z88", 5.2, "grpo.xlsx"),
    Picture("grpo-rules", "Rules", "A1:Z37", 4.6, "grpo.xlsx"),
    Picture("dpo-pairs", "Pairs", "A1:U61", 5.1, "dpo.xlsx"),
    Picture("optimum", "Optimum", "A1:AA46", 7.5, "optimum.xlsx"),
)


def main() -> None:
    """Renders every picture into the folder `pictures`."""
    for picture in PICTURES:
        with tempfile.TemporaryDirectory() as room:
            render(HERE / picture.book, picture, Path(room), HERE / "pictures" / picture.name)


def render(source: Path, picture: Picture, room: Path, target: Path) -> None:
    """Renders a range of a workbook into target.png; room is an empty folder."""
    book = load_workbook(source)
    for page in book.worksheets:
        # openpyxl drops the cached numbers, so LibreOffice computes the picture's numbers by itself.
        page.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
        page.page_setup.fitToHeight = page.page_setup.fitToWidth = 1
        page.page_setup.orientation = "landscape"
        page.row_breaks, page.col_breaks = RowBreak(), ColBreak()
        page.print_title_rows = page.print_title_cols = None
        page.oddFooter.left.text = page.oddFooter.center.text = page.oddFooter.right.text = None
        page.page_margins = PageMargins(0.1, 0.1, 0.1, 0.1, 0, 0)
    if picture.cells:
        book[picture.sheet].print_area = picture.cells
    number = str(book.sheetnames.index(picture.sheet) + 1)
    book.save(room / "page.xlsx")
    profile = f"-env:UserInstallation=file://{room}/profile"
    subprocess.run(
        ["soffice", profile, "--headless", "--convert-to", "pdf", "--outdir", room, room / "page.xlsx"],
        check=True,
        capture_output=True,
    )
    target.parent.mkdir(exist_ok=True)
    crop = ["-x", "0", "-y", "0", "-W", str(int(A4_WIDTH * RESOLUTION)), "-H", str(int(picture.inches * RESOLUTION))]
    subprocess.run(
        ["pdftoppm", "-r", str(RESOLUTION), *crop, "-f", number, "-singlefile", "-png", room / "page.pdf", target],
        check=True,
    )


if __name__ == "__main__":
    main()
