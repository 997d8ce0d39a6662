"""What is released: the wheel, the source archive, and what they need."""

import json
import subprocess
import sys
import tarfile
import tomllib
from configparser import ConfigParser
from email.message import Message
from email.parser import Parser
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest

from fencepost.version import VERSION
from scripts import dist
from scripts.sbom import closure, locked_hashes, sbom
from tests.release.environments import Environment

PROJECT = tomllib.loads((dist.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MADE_AT = "2026-11-19T00:00:00Z"
PIP_AND_VENV_MB = 30
OF_OTHER_PLATFORMS = {"colorama", "exceptiongroup"}
INFO = f"fencepost-{VERSION}.dist-info"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    dist.build(folder)
    return folder


@pytest.fixture(scope="module")
def metadata(built: Path) -> Message:
    with ZipFile(built / dist.WHEEL) as wheel:
        return Parser().parsestr(wheel.read(f"{INFO}/METADATA").decode())


def test_two_builds_do_not_differ_in_a_byte(built: Path, tmp_path: Path) -> None:
    dist.build(tmp_path)
    assert {one.name for one in built.iterdir()} == {dist.WHEEL, dist.ARCHIVE}
    assert dist.differing(built, tmp_path) == []


def test_the_wheel_lacks_no_file_of_the_package_and_has_no_other(built: Path) -> None:
    assert list(dist.wheel_faults(built / dist.WHEEL)) == []
    kinds = {Path(one).suffix for one in dist.package_files()}
    assert kinds >= {".py", ".sql", ".html", ".css", ".js", ".lua", ".typed"}


def test_a_wheel_without_a_file_or_with_one_too_many_does_not_pass(tmp_path: Path) -> None:
    broken = tmp_path / dist.WHEEL
    names = dist.package_files() - {"fencepost/py.typed"} | {"fencepost/test_left.py"}
    with ZipFile(broken, "w") as wheel:
        for name in names:
            wheel.writestr(name, "")
    faults = list(dist.wheel_faults(broken))
    assert "fencepost/py.typed is missing" in faults
    assert "fencepost/test_left.py is not a file of the package" in faults
    assert "dist-info/licenses/LICENSE is missing" in faults


def test_the_source_archive_has_no_tests_and_no_caches(built: Path) -> None:
    with tarfile.open(built / dist.ARCHIVE) as archive:
        names = [one.partition("/")[2] for one in archive.getnames()]
    sources = {f"src/{one}" for one in dist.package_files()}
    papers = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md"}
    assert set(names) - {"PKG-INFO", ".gitignore"} == sources | papers


def test_the_metadata_says_what_the_project_says(metadata: Message) -> None:
    assert (metadata["Name"], metadata["Version"]) == ("fencepost", VERSION)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert set(metadata.get_all("Provides-Extra") or ()) == set(PROJECT["optional-dependencies"])
    assert "Typing :: Typed" in (metadata.get_all("Classifier") or ())


def test_the_entry_points_are_those_of_the_project(built: Path) -> None:
    points = ConfigParser()
    with ZipFile(built / dist.WHEEL) as wheel:
        points.read_string(wheel.read(f"{INFO}/entry_points.txt").decode())
    assert {name: dict(points[name]) for name in points.sections()} == {
        "console_scripts": PROJECT["scripts"],
        **PROJECT["entry-points"],
    }


def test_the_demo_runs_from_the_wheel_and_what_its_extra_names_alone(built: Path, tmp_path: Path) -> None:
    """About 10 s: the demo runs for four of them."""
    environment = Environment(tmp_path / "environment", built / dist.WHEEL, "web")
    ended = environment.run(*dist.DEMO)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip().endswith("lost 0, doubled 0")
    assert "the dashboard" in ended.stdout


def test_the_demo_without_its_extra_does_not_fail_without_a_remedy(built: Path, tmp_path: Path) -> None:
    ended = Environment(tmp_path / "environment", built / dist.WHEEL).run("demo")
    assert ended.returncode == 2
    assert ended.stderr == 'fencepost: the web needs the extra: pip install "fencepost[web]"\n'


def test_no_component_is_without_a_version_a_hash_or_its_place_in_the_tree() -> None:
    document = json.loads(sbom(VERSION, MADE_AT))
    components = {one["bom-ref"]: one for one in document["components"]}
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert all(one["version"] and one["properties"] for one in components.values())
    assert {one["ref"] for one in document["dependencies"]} == {"fencepost", *components}
    required = {name for name, one in components.items() if one["scope"] == "required"}
    assert required == closure().keys() - {"fencepost"} == {"apsw", "click", "msgspec", "tzdata"}


def test_the_list_of_components_has_no_address_no_development_tool_and_is_the_same_each_time() -> None:
    text = sbom(VERSION, MADE_AT)
    assert "://" not in text
    assert text == sbom(VERSION, MADE_AT)
    assert "pytest" not in {one["name"] for one in json.loads(text)["components"]}


def test_a_lock_is_read_whole() -> None:
    one, other = "a" * 64, "b" * 64
    lock = f"Ab.c==1.0 ; os == 'x' \\\n    --hash=sha256:{one} \\\n    --hash=sha256:{other}\nd==2\n"
    assert locked_hashes(lock) == {"ab-c": ("1.0", [one, other]), "d": ("2", [])}


def test_the_policy_knows_the_version_that_is_released() -> None:
    assert f"| {VERSION.rpartition('.')[0]}.x | yes |" in (dist.ROOT / "SECURITY.md").read_text("utf-8")


def test_what_the_demo_installs_does_not_grow_out_of_its_bound() -> None:
    needed = closure("web", "editable").keys() - {"fencepost"}
    files = [Path(str(file.locate())) for name in needed for file in distribution(name).files or ()]
    taken_mb = sum(one.stat().st_size for one in files if one.is_file()) / 1e6
    assert 30 < taken_mb < dist.INSTALLED_MAX_MB - PIP_AND_VENV_MB


def test_the_lock_of_the_demo_has_no_more_than_the_demo_needs() -> None:
    locked = locked_hashes((dist.ROOT / "requirements-demo.lock").read_text("utf-8"))
    needed = closure("web", "editable").keys() - {"fencepost"}
    assert needed <= locked.keys()
    assert locked.keys() - needed <= OF_OTHER_PLATFORMS


def test_no_package_of_the_web_is_without_its_reason() -> None:
    page = (dist.ROOT / "docs/decisions/0046-what-the-web-extra-brings.md").read_text("utf-8")
    rows = [line.split(" | ")[0].removeprefix("| ") for line in page.splitlines() if line.startswith("| ")]
    explained = {name for row in rows[2:] for name in row.split(", ")}
    assert explained == closure("web").keys() - closure().keys()


def test_nothing_of_the_web_that_is_said_to_stay_unused_is_loaded() -> None:
    page = (dist.ROOT / "docs/decisions/0046-what-the-web-extra-brings.md").read_text("utf-8")
    rows = [line.split(" | ")[0].removeprefix("| ") for line in page.splitlines() if "never loaded" in line]
    names = {name.replace("-", "_") for row in rows for name in row.split(", ")} - {"markdown_it_py"}
    assert len(names) >= 10
    loading = "import sys, fencepost.web.server, fencepost.web.application as web; web.describe()"
    loaded = subprocess.run(
        [sys.executable, "-c", f"{loading}; print(*sys.modules)"], check=True, capture_output=True, text=True
    ).stdout
    assert names & set(loaded.split()) == set()
