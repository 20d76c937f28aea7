"""A malformed or contradictory pins.toml is refused with file, key and accepted form."""

from pathlib import Path

import pytest

from edgegate import pins
from edgegate.errors import PinsFault
from edgegate.resources import resource
from pin_file import H1, SHA, VALID, spoiled, write

VERSION = "Accepted: a version without a leading v, as in 1.8.3."
CASES = {
    "no TOML": ("[pin.server", "is no TOML: Expected ']' at the end of a table declaration"),
    "empty": ("", "pin is missing. Accepted: at least one table [pin.<name>]."),
    "other table": (VALID + "[pins.x]\n", "pins is unknown. Accepted: tables [pin.<name>] only."),
    "pin is no table": ("pin = 1\n", "pin is a number. Accepted: a table."),
    "pin is a text": ('[pin]\nserver = "1.0"\n', "pin.server is a text. Accepted: a table."),
    "name": (spoiled("[pin.tool]", "[pin.Tool]"), "pin.Tool is no name. Accepted: lower-case letters, digits"),
    "unknown key": (
        spoiled('why = "because"', 'why = "because"\nwhyy = "x"'),
        "pin.server.whyy is unknown. Accepted: one of binaries, companions, default, digests, disk-mib, files, "
        "image-digests, images, ldflags, module, native, pinned, production, production-why, published, requires, "
        "review-by, source, staging, sums, unpin-when, versions, why.",
    ),
    "key of another source": (
        spoiled('project = "proxy-server"', 'project = "proxy-server"\nmodule = "m"'),
        "pin.proxy.module is unknown. Accepted: one of binaries,",
    ),
    "no versions": (
        spoiled('versions = ["0.8"]\n', ""),
        f"pin.tool.versions is missing or empty. {VERSION[:9]} a list",
    ),
    "versions no list": (
        spoiled('versions = ["0.8"]', 'versions = "0.8"'),
        "pin.tool.versions is a text. Accepted: a list",
    ),
    "version no text": (spoiled('["0.8"]', "[0.8]"), "pin.tool.versions holds 0.8. Accepted: a list of texts"),
    "version with v": (spoiled('["0.8"]', '["v0.8"]'), f"pin.tool.versions holds 'v0.8'. {VERSION}"),
    "version twice": (
        spoiled('["0.8"]', '["0.8", "0.8"]'),
        "pin.tool.versions has '0.8' twice. Accepted: each value once.",
    ),
    "default missing": (spoiled('default = "0.8"\n', ""), "pin.tool.default is missing. Accepted: one of 0.8."),
    "default unknown": (
        spoiled('default = "2.0.0"', 'default = "3.0.0"'),
        "pin.server.default is '3.0.0'. Accepted: one of 1.0.0, 2.0.0.",
    ),
    "source unknown": (spoiled('"deb"', '"rpm"'), "pin.tool.source is 'rpm'. Accepted: one of go, pypi, deb."),
    "source missing": (spoiled('source = "deb"\n', ""), "pin.tool.source is missing. Accepted: one of go, pypi, deb."),
    "why missing": (spoiled('why = "because"\n', ""), "pin.server.why is missing. Accepted: a text."),
    "why empty": (spoiled('why = "because"', 'why = " "'), "pin.server.why is empty. Accepted: a text."),
    "why no text": (spoiled('why = "because"', "why = true"), "pin.server.why is true or false. Accepted: a text."),
    "unpin-when missing": (
        spoiled('unpin-when = "never"\n', ""),
        "pin.server.unpin-when is missing. Accepted: a text.",
    ),
    "review-by missing": (
        spoiled("review-by = 2027-01-01\n", ""),
        "pin.server.review-by is missing. Accepted: a date, as in 2027-03-31.",
    ),
    "review-by no date": (
        spoiled("review-by = 2027-01-01", 'review-by = "2027-01-01"'),
        "pin.server.review-by is a text. Accepted: a date, as in 2027-03-31.",
    ),
    "review-by a moment": (
        spoiled("review-by = 2027-01-01", "review-by = 2027-01-01T10:00:00"),
        "pin.server.review-by is a date and time. Accepted: a date, as in 2027-03-31.",
    ),
    "review before pinned": (
        spoiled("review-by = 2027-01-01", "review-by = 2025-01-01"),
        "pin.server.review-by is 2025-01-01. Accepted: a date after pinned, which is 2026-01-01.",
    ),
    "pinned missing": (spoiled("pinned = 2026-01-01\n", ""), "pin.server.pinned is missing. Accepted: a date"),
    "production without why": (
        spoiled('production-why = "older"\n', ""),
        "pin.server.production and production-why are not both set. Accepted: both or neither.",
    ),
    "production-why without production": (
        spoiled('production = "0.9.0"\n', ""),
        "pin.server.production and production-why are not both set. Accepted: both or neither.",
    ),
    "disk no number": (spoiled("= 700", '= "700"'), "pin.server.disk-mib is a text. Accepted: a whole number of MiB."),
    "disk true": (spoiled("= 700", "= true"), "pin.server.disk-mib is true or false. Accepted: a whole number of MiB."),
    "disk zero": (spoiled("= 700", "= 0"), "pin.server.disk-mib is 0. Accepted: a whole number of MiB above 0."),
    "digest missing": (
        spoiled(f'"1.0.0" = "{H1}"\n', ""),
        "pin.server.digests.1.0.0 is missing. Accepted: one digest a version.",
    ),
    "digest of no version": (
        spoiled(f'"1.0.0" = "{H1}"', f'"1.0.0" = "{H1}"\n"3.0.0" = "{H1}"'),
        "pin.server.digests.3.0.0 is no version of this pin. Accepted: one of 1.0.0, 2.0.0.",
    ),
    "digest of another kind": (
        spoiled(f'"1.0.0" = "{H1}"', f'"1.0.0" = "{SHA}"'),
        f"pin.server.digests.1.0.0 is '{SHA}'. Accepted: the module sum, as in h1:…",
    ),
    "wheel digest": (
        spoiled(f'"1.0" = "{SHA}"', '"1.0" = "md5:0"'),
        "pin.proxy.digests.1.0 is 'md5:0'. Accepted: sha256: and 64 hexadecimal digits.",
    ),
    "published no date": (
        spoiled("2025-12-24", "1"),
        "pin.server.published.2.0.0 is a number. Accepted: a date, as in 2027-03-31.",
    ),
    "module missing": (
        spoiled('module = "example.test/server"\n', ""),
        "pin.server.module is missing. Accepted: a Go module path.",
    ),
    "nothing to build": (
        spoiled('binaries = { server = "cmd/server" }\n', ""),
        "pin.server.binaries is missing. Accepted: at least one of binaries, native and files.",
    ),
    "requires without native": (
        spoiled("ldflags", 'requires = { "example.test/more" = "1.2.3" }\nldflags'),
        "pin.server.requires is set without native. Accepted: modules that our own main imports.",
    ),
    "required version": (
        spoiled("ldflags", 'requires = { "example.test/more" = "v1" }\nldflags'),
        "pin.server.requires.example.test/more is",
    ),
    "native and binaries": (
        spoiled("ldflags", 'native = "server"\nldflags'),
        "pin.server.native is set beside binaries. Accepted: either our own main or the module's own.",
    ),
    "path outside": (
        spoiled('"cmd/server"', '"../server"'),
        "pin.server.binaries.server is '../server'. Accepted: a path relative to the source, without '..'.",
    ),
    "ldflags with another name": (
        spoiled("{version}", "{patch}"),
        "pin.server.ldflags has the unknown name '{patch}'. Accepted: {version}, {major} and {minor}.",
    ),
    "staging no switch": (
        spoiled("ldflags", "staging = 1\nldflags"),
        "pin.server.staging is a number. Accepted: true or false.",
    ),
    "project missing": (
        spoiled('project = "proxy-server"\n', ""),
        "pin.proxy.project is missing. Accepted: a project name.",
    ),
    "wheel without binary": (
        spoiled('binaries = { proxy = "proxy/bin/proxy" }\n', ""),
        "pin.proxy.binaries is missing or empty. Accepted: a table: name = path inside the package.",
    ),
    "no packages": (
        spoiled(f'[pin.tool.packages."0.8"]\ntool = "1:0.8-1 {SHA}"\n', ""),
        "pin.tool.packages.0.8 is missing or empty. Accepted: one table of packages a version.",
    ),
    "package without digest": (
        spoiled(f"1:0.8-1 {SHA}", "1:0.8-1"),
        "pin.tool.packages.0.8.tool is '1:0.8-1'. Accepted: '<Debian version> sha256:<64 hexadecimal digits>'.",
    ),
    "digests beside packages": (
        spoiled('[pin.tool.packages."0.8"]', f'[pin.tool.digests]\n"0.8" = "{SHA}"\n[pin.tool.packages."0.8"]'),
        "pin.tool.digests is unknown.",
    ),
    "companion of no version": (
        spoiled('"1.0.0" = { proxy', '"1.1.0" = { proxy'),
        "pin.server.companions.1.1.0 is no version of this pin. Accepted: one of 1.0.0, 2.0.0.",
    ),
    "companion unknown": (
        spoiled('{ proxy = "1.0" }', '{ proxi = "1.0" }'),
        "pin.server.companions.1.0.0.proxi is no other pin. Accepted: one of proxy, tool.",
    ),
    "companion of itself": (
        spoiled('{ proxy = "1.0" }', '{ server = "1.0.0" }'),
        "pin.server.companions.1.0.0.server is no other pin. Accepted: one of proxy, tool.",
    ),
    "companion version unknown": (
        spoiled('{ proxy = "1.0" }', '{ proxy = "9.0" }'),
        "pin.server.companions.1.0.0.proxy is 9.0, which [pin.proxy] does not have. Accepted: one of 1.0, 2.0.",
    ),
    "companion against default": (
        spoiled('{ proxy = "2.0" }', '{ proxy = "1.0" }'),
        "pin.server.companions.2.0.0.proxy is 1.0. Accepted: the default of [pin.proxy], which is 2.0.",
    ),
    "companion of two": (
        spoiled("[pin.tool.packages", '[pin.tool.companions]\n"0.8" = { proxy = "2.0" }\n[pin.tool.packages'),
        "pin.tool.companions.0.8.proxy is a companion of server too. Accepted: one leader a component.",
    ),
    "image claimed twice": (
        spoiled('["registry.test/example/proxy"]', '["example/server"]'),
        "pin.proxy.images claims 'example/server', as [pin.server] does. Accepted: one pin an image.",
    ),
    "image twice in one": (
        spoiled('["docker.io/example/server"]', '["a/b", "a/b"]'),
        "pin.server.images has 'a/b' twice. Accepted: each value once.",
    ),
}


@pytest.mark.parametrize(("text", "said"), CASES.values(), ids=CASES.keys())
def test_what_is_wrong_is_named(tmp_path: Path, text: str, said: str) -> None:
    """Each rule has a message with the file, the key and what would be accepted."""
    path = write(tmp_path, text)
    with pytest.raises(PinsFault) as caught:
        pins.load(path)
    assert str(caught.value).startswith(f"{path}: {said}")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The reason is the system's."""
    with pytest.raises(
        PinsFault, match=r"nowhere\.toml: cannot be read: No such file or directory\. Accepted: a readable"
    ):
        pins.load(tmp_path / "nowhere.toml")


def test_everything_is_read(tmp_path: Path) -> None:
    """A valid file gives every value that it holds."""
    server = pins.load(write(tmp_path)).pin("server")
    assert (server.source, server.disk_mib, server.production, server.images) == (
        "go",
        700,
        "0.9.0",
        ("docker.io/example/server",),
    )
    assert server.published["2.0.0"].isoformat() == "2025-12-24"
    assert server.companions["1.0.0"] == {"proxy": "1.0"}


def test_debian_packages_are_taken_apart(tmp_path: Path) -> None:
    """An entry is the full Debian version, epoch included, and the digest of the file."""
    recipe = pins.load(write(tmp_path)).pin("tool").recipe
    assert isinstance(recipe, pins.DebRecipe)
    assert recipe.packages["0.8"] == (pins.DebPackage("tool", "1:0.8-1", SHA),)


def test_the_projects_own_file_is_right() -> None:
    """Every pin of the project can be read, and every native main that it names is there."""
    for pin in pins.load(resource("pins.toml")).pins.values():
        if isinstance(pin.recipe, pins.GoRecipe) and pin.recipe.native:
            assert (resource("native") / pin.recipe.native / "main.go").is_file()
