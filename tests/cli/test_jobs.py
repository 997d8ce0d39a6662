"""`fencepost jobs`."""

from tests.cli.calls import call, called, called_json, refused


def test_jobs_are_listed_by_name_in_words(used: str) -> None:
    assert [one["job"] for one in called_json("jobs", "list", "--store", used)] == [
        "burn",
        "double",
        "report",
    ]
    shown = called("jobs", "list", "--text", "burn", "--store", used)
    assert shown.splitlines()[1].split(maxsplit=2) == ["burn", "default", "takes nothing; one attempt"]
    assert [one["job"] for one in called_json("jobs", "list", "--limit", "2", "--store", used)] == [
        "burn",
        "double",
    ]
    none = call("jobs", "list", "--queue", "mail", "--store", used)
    assert (none.exit_code, none.stdout, none.stderr) == (0, "", "no jobs\n")


def test_a_job_is_shown_with_what_it_takes(used: str) -> None:
    assert "number: integer" in called("jobs", "show", "double", "--store", used)
    found = called_json("jobs", "show", "report", "--store", used)
    assert found["parameters"] == [{"name": "region", "required": False, "kind": "string"}]
    assert "did you mean double?" in refused("jobs", "show", "duble", "--store", used)
