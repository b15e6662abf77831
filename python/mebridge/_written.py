"""Files of an output that hold what a user may change: what MG5aMC itself writes.

A run computes cuts and scales itself. Where one of these files is none that MG5aMC 2.8.3 to 3.7 wrote, it may hold a cut
or a scale of the user's, which nothing here would see.
"""

from __future__ import annotations

import hashlib
import pathlib

from ._library import Error

# The beginning of the SHA-256 of what MG5aMC writes, blank lines left out and blanks run together, and which versions
# do: those of releases and of outputs of its repositories, with and without the plugin.
WRITTEN: dict[str, dict[str, str]] = {
    "SubProcesses/cuts.f": {
        "9f510be4a29942ab": "2.9.2 3.1.0",
        "5fa84ed4db040072": "2.9.5",
        "e65fa07b876d620a": "3.1.0",
        "9dfc863dbc768c3e": "3.3.1 3.4.0",
        "2ae1dc3b9047bce4": "3.3.1 3.4.0",
        "b4264c70e1ebd2b9": "3.4.0 3.5.0",
        "0a230f68f98682f7": "3.4.1 3.4.2 3.5.6 3.5.7",
        "9d53cfc9b88ac9f9": "3.5.0",
        "74126f549f54b832": "3.5.0 3.5.1 3.5.2 3.5.3 3.6.0",
        "bd49eb3d7576b970": "3.6.2 3.6.3 3.6.4 3.6.5 3.6.6 3.6.7 3.7.0 3.7.1",
    },
    "SubProcesses/setcuts.f": {
        "5a935181c1c40214": "2.8.3.2",
        "e846b14634c02d3e": "2.9.2 3.1.0",
        "7400bba72aa7fa3c": "2.9.5",
        "b8594ccfee9b8c3e": "3.3.1 3.4.0 3.4.1 3.4.2",
        "5493da97ba4f7ed6": "3.3.1 3.4.0",
        "f2a01425e1038192": "3.4.0 3.5.0",
        "0ad9e3785275f20b": "3.5.0 3.5.1 3.5.2",
        "79ce9ca545f0da17": "3.5.3 3.6.0 3.6.2 3.6.3 3.6.4 3.6.5 3.6.6 3.6.7 3.7.0 3.7.1",
        "1b21c505fa7674f4": "3.5.6 3.5.7",
    },
    "SubProcesses/setscales.f": {
        "b18d4768dedd1f93": "2.9.2",
        "9af6de2ff64a7ec7": "2.9.5 3.3.1 3.4.0 3.4.1 3.4.2",
        "005eafa89b42dde8": "3.1.0",
        "69602c4758ebe599": "3.3.1 3.4.0",
        "a526f390a89944b8": "3.4.0",
        "a0cdad9c9c4ef3c1": "3.5.0 3.5.1 3.5.2 3.5.3 3.6.0 3.6.2 3.6.3 3.6.4 3.6.5 3.6.6 3.6.7 3.7.0 3.7.1",
        "7e748b72c1f3b63d": "3.5.0",
        "8087b5cb09202653": "3.5.6 3.5.7",
    },
    "SubProcesses/reweight.f": {
        "2172d0198030b96e": "2.8.3.2",
        "dff1af9ff50ef278": "2.9.2 3.1.0",
        "31dc136c43d827c0": "2.9.5 3.4.1 3.4.2 3.5.6 3.5.7",
        "3a9cc0ba528f5eb3": "3.1.0",
        "a6abbe81216d6cac": "3.3.1",
        "e1002bd7eca0e60a": "3.3.1",
        "dfdaf1c7a3fe92db": "3.4.0",
        "40a126e5032a418e": "3.4.0",
        "9f72ce36c63fd97b": "3.4.0 3.5.0",
        "2e20234cc68eea75": "3.4.0",
        "d3983dadde036e90": "3.5.0",
        "ec122263d57ffb47": "3.5.0 3.5.1 3.5.2 3.5.3",
        "9e52a29f63bda5f6": "3.5.3 3.6.0",
        "7a52fd0b44c8ea5a": "3.6.0 3.6.2",
        "f569a4e543511839": "3.6.3",
        "4f437b22b36f4897": "3.6.4 3.6.5 3.6.6 3.6.7",
        "c3b63fcfdf6eae58": "3.7.0",
        "bec2aeeb71a970c5": "3.7.1",
    },
    "SubProcesses/cluster.f": {
        "9a569a084f91ab9e": "2.8.3.2",
        "8bc1e4f20329bdc5": "2.9.2 2.9.5 3.1.0 3.3.1 3.4.1 3.4.2 3.5.6 3.5.7",
        "ca0e572bf8055c02": "3.3.1 3.4.0",
        "926336cc2b9fd5eb": "3.4.0 3.5.0",
        "921702e293e71457": "3.5.0 3.5.1 3.5.2 3.5.3 3.6.0",
        "2ff7471c68db9aae": "3.6.0 3.6.2",
        "16e238bc8cfb9383": "3.6.3 3.6.4 3.6.5",
        "2e0df62512f02b2a": "3.6.6 3.6.7 3.7.0 3.7.1",
    },
    "SubProcesses/initcluster.f": {
        "78de713ea6331d76": "2.9.2 3.1.0",
        "16ab77fed034b70c": "2.9.5 3.3.1 3.4.0 3.4.1 3.4.2 3.5.0 3.5.6 3.5.7",
        "4ee0918915a9dec7": "3.3.1 3.4.0",
        "72209b777f238ba8": "3.5.0 3.5.1 3.5.2 3.5.3 3.6.0 3.6.2 3.6.3 3.6.4 3.6.5 3.6.6 3.6.7 3.7.0 3.7.1",
    },
    "SubProcesses/myamp.f": {
        "d064388b5e444f23": "2.8.3.2",
        "622e9cc89c35a47d": "2.9.2 2.9.5 3.1.0 3.3.1 3.4.0 3.4.1 3.4.2",
        "8dd0d4bbfe531c12": "3.3.1 3.4.0",
        "5c8d0c9c0fdb5251": "3.4.0 3.5.0",
        "b6aeb67111ff8963": "3.5.0",
        "1e1cf07cac2acd90": "3.5.0 3.5.1 3.5.2",
        "f99019590c17eeba": "3.5.3 3.6.0",
        "49608d43a7a8b0a6": "3.5.6 3.5.7",
        "486452d36a3369cc": "3.6.2 3.6.3 3.6.4 3.6.5 3.6.6 3.6.7",
        "4a1e6d45cebaac84": "3.7.0",
        "e54608e5c51bcc80": "3.7.1",
    },
    "SubProcesses/dummy_fct.f": {
        "9ddcc6190ed03bfd": "2.9.2 2.9.5 3.1.0 3.3.1 3.4.0 3.4.1 3.4.2",
        "6baab7fef8a5c8e6": "3.5.0",
        "ed85236f452ebbc2": "3.5.0 3.5.1",
        "d5c1ecc1ccc72fd5": "3.5.2 3.5.3 3.6.0 3.6.2 3.6.3 3.6.4 3.6.5 3.6.6 3.6.7 3.7.0 3.7.1",
        "a6a0d01c438b48d4": "3.5.6 3.5.7",
    },
    "Source/kin_functions.f": {
        "e2bcef0303f8df52": "2.9.2 2.9.5 3.1.0 3.3.1 3.4.0 3.4.1 3.4.2 3.5.0 3.5.6 3.5.7",
        "30d4c3743fd4a7b0": "3.5.0 3.5.1 3.5.2 3.5.3 3.6.0 3.6.2 3.6.3 3.6.4 3.6.5 3.6.6 3.6.7 3.7.0 3.7.1",
    },
    "Source/alfas_functions.f": {
        "018dd219a73fa734": "2.9.2 2.9.5 3.1.0 3.3.1 3.4.0 3.4.1 3.4.2 3.5.0 3.5.1 3.5.2 3.5.3 3.5.6 3.5.7 3.6.0",
        "2291bc47662cb5b9": "3.6.2 3.6.3 3.6.4 3.6.5 3.6.6 3.6.7 3.7.0 3.7.1",
    },
    "Source/setrun.f": {
        "ca143002924ab52e": "2.9.2 2.9.5 3.1.0",
        "2686f44f25839ecc": "3.3.1 3.4.0 3.4.1 3.4.2",
        "c00be52234dfe2fc": "3.3.1 3.4.0",
        "29aea97d0af24469": "3.4.0 3.5.0",
        "d2835987b390e75a": "3.5.0",
        "01158fe52846824a": "3.5.0 3.5.1 3.5.2 3.5.3",
        "885c8e6e1206cc09": "3.5.6 3.5.7",
        "8d86c34590891ae1": "3.6.0 3.6.2 3.6.3 3.6.4 3.6.5",
        "6a7bfe6a05208e77": "3.6.6",
        "ce564a0ffff1c1c3": "3.6.7",
        "f22514715271d23a": "3.7.0 3.7.1",
    },
}


def digest(text: bytes) -> str:
    """Of a file, whatever blanks it has."""
    lines = (b" ".join(line.split()) for line in text.splitlines())
    return hashlib.sha256(b"\n".join(line for line in lines if line)).hexdigest()[:16]


def changed(output: pathlib.Path, directories: list[pathlib.Path]) -> list[pathlib.Path]:
    """Files that MG5aMC did not write so. Those of the directories of matrix elements are links, unless somebody put
    a file in their place."""
    found, seen = [], set()
    for name, known in WRITTEN.items():
        files = [output / name]
        if name.startswith("SubProcesses/"):
            files += [directory / files[0].name for directory in directories]
        for file in files:
            try:
                place = file.resolve(strict=True)
                text = b"" if place in seen else place.read_bytes()
            except OSError:
                if file == files[0]:
                    found.append(file)
                continue
            if place not in seen and digest(text) not in known:
                found.append(file)
            seen.add(place)
    return found


def check(output: pathlib.Path, directories: list[pathlib.Path]) -> None:
    """Refuses an output with a file that MG5aMC did not write so."""
    files = changed(output, directories)
    if files:
        names = ", ".join(str(file.relative_to(output)) for file in files)
        raise Error(
            f"{names} of {output} is not as MG5aMC 2.8.3 to 3.7 writes it, and what was changed there would be left out; "
            "put the original back, run MadEvent (mebridge link), or give --changed-files (changed_files=True) where "
            "neither cuts nor scales depend on the change"
        )
