"""The run card of MG5aMC's leading order, 2.8.3 to 3.7: every entry, its default, and what a run does with it.

Names and defaults are those of ``RunCardLO`` in ``madgraph/various/banner.py``; docs/run_card.md is held against this
table by a test.
"""

from __future__ import annotations

import ast
import difflib
import math
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Union

from . import _text
from ._library import Error
from ._process import Path

Value = Union[bool, int, float, str, list[Any], dict[Any, Any]]
# What a run does with an entry.
HONOURED, REFUSED, IGNORED = "honoured", "refused", "without meaning here"


@dataclass(frozen=True)
class Entry:
    """One entry."""

    name: str
    default: Value
    kind: str
    said: str
    """What it does here; of a refused one what is harmless and the cure; of one without meaning why."""


def _rows(kind: str, text: str) -> list[Entry]:
    """Entries from lines ``name = default | said``; a line may name several with the same default."""
    found = []
    for line in text.strip().splitlines():
        names, _, said = line.partition("|")
        names, _, default = names.partition("=")
        found += [Entry(name, ast.literal_eval(default.strip()), kind, said.strip()) for name in names.split()]
    return found


_HONOURED = """
run_tag = 'tag_1'                              | written into the banner
nevents = 10000                                | events of the run
iseed = 0                                      | of the random numbers; 0: drawn for each run
lpp1 lpp2 = 1                                  | 0 (a parton), 1, -1 (proton, antiproton), 2, 3, 4 (photons of p, e, mu); both, or one with a proton
ebeam1 ebeam2 = 6500.0                         | GeV
polbeam1 polbeam2 = 0.0                        | per cent, of beams with lpp = 0; in Cards/run_card.dat alone
pdlabel pdlabel1 pdlabel2 = 'nn23lo1'          | nn23lo, nn23lo1, nn23nlo, cteq6_m, cteq6_l, cteq6l1; lhapdf: by lhaid; iww: photons; one for both of a kind; no other
lhaid = 230000                                 | number, or name, of a set that lies below LHAPDF_DATA_PATH
sde_strategy = 1                               | by what an event is of a channel, for the scale -1 and for $
fixed_ren_scale fixed_fac_scale fixed_fac_scale1 fixed_fac_scale2 = False | as there
scale dsqrt_q2fact1 dsqrt_q2fact2 = 91.188     | GeV, where the scale is fixed
dynamical_scale_choice = -1                    | -1 (clustering to 2 -> 2), 1, 2, 3, 4, as there
fixed_extra_scale = False                      | whether parameters that run (running.py of a model) have one scale, or alpha_s's
mue_ref_fixed = 91.188                         | that scale, GeV
scalefact = 1.0                                | multiplies scales that are not fixed
event_norm = 'average'                         | weights average to the cross section or to 1 (unity), or are its parts
use_syst = True                                | events have <mgrwt>, which systematics of MG5aMC reads
systematics_program = 'systematics'            | that or auto: with pdlabel = lhapdf its weights are made; none
systematics_arguments = ['--mur=0.5,1,2', '--muf=0.5,1,2', '--pdf=errorset'] | which; dyn is -1, 1, 2, 3, 4 without --dyn
bwcutoff = 15.0                                | widths about its mass for decay chains (inside) and $ (outside)
cut_decays = False                             | whether cuts are about what comes from decay chains
dsqrt_shat = 0.0                               | least energy of the partons, GeV
dsqrt_shatmax = -1.0                           | largest energy of the partons, GeV (3.6 and later)
small_width_treatment = 1e-06                  | the least width of matrix elements and of bwcutoff, in units of the mass
maxjetflavor = 4                               | quarks up to it are jets, others up to 5 are b
ptj = 20.0                                     | least transverse momentum of jets, GeV
pta ptl = 10.0                                 | of photons, of charged leptons
ptb = 0.0                                      | of b quarks that are no jets
ptjmax ptbmax ptamax ptlmax = -1.0             | largest ones
ej eb ea el = 0.0                              | least energy in the rest frame of the partons
ejmax ebmax eamax elmax = -1.0                 | largest ones
etaj = 5.0                                     | largest rapidity, in absolute value, of jets
etab = -1.0                                    | of b quarks
etaa etal = 2.5                                | of photons, of charged leptons
etajmin etabmin etaamin etalmin = 0.0          | least ones
drjj drll draa draj drjl dral = 0.4            | least distance in rapidity and angle of two of them
drbb drbj drab drbl = 0.0                      | the same
drjjmax drbbmax drllmax draamax drbjmax = -1.0  | largest ones
drajmax drjlmax drabmax drblmax dralmax = -1.0  | largest ones
mmjj mmbb mmaa = 0.0                           | least mass of a pair
mmll = 0.0                                     | of a charged lepton and its antiparticle
mmjjmax mmbbmax mmaamax mmllmax = -1.0         | largest ones
mmnl = 0.0                                     | least mass of all charged leptons and neutrinos together
mmnlmax = -1.0                                 | largest one
ptllmin = 0.0                                  | least pt of lepton and antilepton, lepton and neutrino, two neutrinos
ptllmax = -1.0                                 | largest one
misset = 0.0                                   | least transverse momentum of all neutrinos together
missetmax = -1.0                               | largest one
ptheavy = 0.0                                  | transverse momentum that one particle above 10 GeV has at least
xptj xptb xpta xptl = 0.0                      | pt that one jet, b quark, photon, charged lepton has at least
ptj1min ptj2min ptj3min ptj4min = 0.0          | least transverse momentum of the jets, the hardest first
ptj1max ptj2max ptj3max ptj4max = -1.0         | largest ones
ptl1min ptl2min ptl3min ptl4min = 0.0          | the same of charged leptons
ptl1max ptl2max ptl3max ptl4max = -1.0         | largest ones
htjmin ht2min ht3min ht4min = 0.0              | least sum of the transverse momenta of all jets, of the hardest 2, 3, 4
htjmax ht2max ht3max ht4max = -1.0             | largest ones
ihtmin = 0.0                                   | the same of jets and b quarks
ihtmax = -1.0                                  | largest one
cutuse = 0                                     | 0: all cuts on ordered jets, 1: one of them
xetamin = 0.0                                  | least rapidity of the two hardest jets, in opposite hemispheres
deltaeta = 0.0                                 | least difference of their rapidities
ptgmin = 0.0                                   | least pt of isolated photons (hep-ph/9801442), instead of pta, draj
r0gamma = 0.4                                  | radius of the isolation
xn epsgamma = 1.0                              | its power, and its share of the photon's pt
isoem = True                                   | whether photons are isolated from leptons and photons as well
pt_min_pdg pt_max_pdg eta_min_pdg eta_max_pdg e_min_pdg e_max_pdg = {} | the same cuts by PDG code
mxx_min_pdg = {}                               | least mass of two particles of this code
mxx_only_part_antipart = {'default': False}    | ... of particle and antiparticle alone
ickkw = 0                                      | 1: MLM matching, for beams of hadrons; 0: none
xqcut = 0.0                                    | least transverse momentum at which a jet is clustered, GeV
auto_ptj_mjj = True                            | whether xqcut is the least pt and pair mass of jets as well
alpsfact = 1.0                                 | multiplies scales of alpha_s at clustered vertices; 1 with use_syst
asrwgtflavor = 5                               | quarks up to it, or up to maxjetflavor, are partons to these weights
pdfwgt = True                                  | whether densities are weighted along the clustered vertices
chcluster = False                              | whether events are clustered by the diagram of their channel alone
ktscheme = 1                                   | 1: longitudinally invariant kT, 2: kT of Pythia's shower
d = 1.0                                        | the radius of kT
xmtcentral = 0.0                               | least transverse mass of the central process, where events are clustered
gridpack = False                               | True: for `mebridge pack` alone
clusinfo = True                                | events have their clustering (<clustering>)
"""

_REFUSED = """
gridrun = False                                | False; it is of a gridpack that MG5aMC made
nb_proton1 nb_proton2 = 1                      | 1; no ions
nb_neutron1 nb_neutron2 = 0                    | 0; no ions
mass_ion1 mass_ion2 = -1.0                     | -1; no ions
bias_module = 'None'                           | None; no bias
boost_event = 'False'                          | False; boost events afterwards
me_frame = [1, 2]                              | 1, 2; matrix elements are those of the rest frame of the partons
highestmult = 1                                | 1; it belongs to ickkw = 2
issgridfile = ''                               | empty; Sudakov factors belong to ickkw = 2
ktdurham ptlund = -1.0                         | -1; no merging in Pythia
custom_fcts = []                               | empty; functions of one's own are Fortran
fixed_couplings = True                         | True; couplings that depend on momenta are Fortran
mue_over_ref = 1.0                             | 1; parameters that run have the scale of alpha_s
ievo_eva = 0                                   | 0; no densities of weak bosons
evaorder = 0                                   | 0; no densities of weak bosons
"""

_IGNORED = """
time_of_flight = -1.0                          | lifetimes are 0
python_seed = -2                               | one seed gives all random numbers
bias_parameters = {'__type__': 1.0}            | there is no bias
dparameter = 0.4                               | of ktdurham
pdgs_for_merging_cut = [21, 1, 2, 3, 4, 5, 6]  | of ktdurham and ptlund
ptonium = 1.0                                  | MadEvent reads it no longer
etaonium = 0.6                                 | MadEvent reads it no longer
eva_xcut = 1.0                                 | of densities of weak bosons
lhe_version = 3.0                              | files are LHE 3
nhel = 0                                       | helicities are summed, and drawn by their shares
sys_scalefact = '0.5 1 2'                      | of systematics --from_card
sys_alpsfact = 'None'                          | the same
sys_matchscale = 'auto'                        | the same
sys_pdf = 'errorset'                           | the same
sys_scalecorrelation = -1                      | the same
gseed = 0                                      | of gridpacks
keep_log = 'normal'                            | of MadEvent's jobs
bypass_check = []                              | of MG5aMC's checks
mc_grouped_subproc = True                      | matrix elements have channels of their own
job_strategy hard_survey = 0                   | of MadEvent's jobs
survey_nchannel_per_job = 2                    | of MadEvent's jobs
survey_splitting refine_evt_by_job = -1           | of MadEvent's jobs
tmin_for_channel = -1.0                        | of MadEvent's jobs
second_refine_treshold = 0.9                   | of MadEvent's jobs
hel_recycling hel_filtering = True | of MadEvent's Fortran; its matched cross sections depend on it, see [matching](#channels-and-matched-cross-sections)
hel_splitamp hel_zeroamp = True | of MadEvent's Fortran
limhel = 1e-08                                 | of MadEvent's Fortran (3.6 and later)
global_flag = '-O'                             | of MadEvent's Fortran
aloha_flag matrix_flag = ''                    | of MadEvent's Fortran
vector_size nb_warp = 1                        | of MadEvent's Fortran (3.6 and later)
vecsize_memmax = 0                             | of MadEvent's Fortran (3.6 and later)
cudacpp_backend = 'cpp'                        | of the plugin
floating_type = 'm'                            | of the plugin
"""

ENTRIES = {
    entry.name: entry
    for entry in [*_rows(HONOURED, _HONOURED), *_rows(REFUSED, _REFUSED), *_rows(IGNORED, _IGNORED)]
}

# Entries with one for each beam beside them.
_BOTH = ("pdlabel", "fixed_fac_scale")
# What is one of a few.
_CHOICES: Mapping[str, tuple[Value, ...]] = {
    "event_norm": ("average", "sum", "unity"),
    "sde_strategy": (1, 2),
    "ickkw": (0, 1),
    "ktscheme": (1, 2),
    "cutuse": (0, 1),
}
# What lies between two numbers.
_RANGES = {
    **dict.fromkeys(("maxjetflavor", "asrwgtflavor"), (0, 6)),
    **dict.fromkeys(("polbeam1", "polbeam2"), (-100.0, 100.0)),
    **dict.fromkeys(("bwcutoff", "small_width_treatment"), (0.0, math.inf)),
}
# Scales, by the entry that fixes them.
_FIXED = {
    "scale": "fixed_ren_scale",
    "dsqrt_q2fact1": "fixed_fac_scale1",
    "dsqrt_q2fact2": "fixed_fac_scale2",
    "mue_ref_fixed": "fixed_extra_scale",
}
# Entries of MadEvent's configuration about cores and clusters, which stand in no run card.
_CONFIGURATION = ("nb_core", "run_mode", "cluster_type", "cluster_queue")
# Numbers as cards have them, and what may stand after one; a whole one; the name of a set of densities.
_NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eEdD][+-]?[0-9]+)?)([kKmM]?)")
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
_LARGEST = 1e20
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+.-]*")
# Characters of a value that an error shows.
_SHOWN = 60
_TRUE, _FALSE = ("t", "true", ".true.", "1", "yes", "on"), ("f", "false", ".false.", "0", "no", "off")


class RunCard(Mapping[str, Any]):
    """Values of all entries: those of a card, and MG5aMC's defaults of what the card leaves out.

    Args:
        given: what a card says, as text.
        source: what messages call it.
        changed: entries that the caller gives, and not the card.
    """

    def __init__(self, given: Mapping[str, str], source: str, changed: Collection[str] = ()) -> None:
        self.source = source
        self.given = dict(given)
        self.repeated: dict[str, tuple[str, str]] = {}
        """What :func:`repeated` tells; and where an entry for both beams stands after one of them with another value."""
        for name in sorted(set(self.given) - set(ENTRIES)):
            if name in _CONFIGURATION:
                raise Error(
                    f"{source} has an entry {name} that mebridge does not know; it is of Cards/me5_configuration.txt: remove it, "
                    "and use --workers or --threads (executor=, threads=)"
                )
            near = difflib.get_close_matches(name, ENTRIES, 1)
            meant = f" (do you mean {near[0]}?)" if near else ""
            if name in changed:
                raise Error(f"{name}, which is to be set, is no entry of a run card{meant}; docs/run_card.md has all")
            raise Error(
                f"{source} has an entry {name} that mebridge does not know{meant}; remove it if nothing depends on it "
                "(docs/run_card.md has all that are known)"
            )
        self._values: dict[str, Any] = {name: entry.default for name, entry in ENTRIES.items()}
        for name, text in self.given.items():
            where = f"{name}, which is to be set," if name in changed else f"{source}: {name}"
            self._values[name] = self._parsed(ENTRIES[name], text, where)
        self._follow()

    @classmethod
    def read(cls, path: Path, changed: Mapping[str, Any] | None = None) -> RunCard:
        """A card, ``value = name ! comment`` on each line, with some entries changed."""
        text = _text.read(path, "the run card")
        for number, line in enumerate(text.splitlines(), 1):
            said = _entry(line).strip()
            # A template has names of blocks that MG5aMC fills.
            if said and "=" not in said and not said.startswith("$"):
                raise Error(
                    f"{os.fspath(path)}, line {number}: {said!r} is no entry; write VALUE = NAME, or # before a comment"
                )
        given = parse(text)
        other = of_both(changed or {})
        # What is changed stands last, and holds.
        kept = {name: value for name, value in given.items() if name not in other}
        card = cls(kept | other, os.fspath(path), other)
        card.repeated |= {name: values for name, values in repeated(text).items() if name not in other}
        return card

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @staticmethod
    def _parsed(entry: Entry, text: str, where: str) -> Any:
        try:
            if entry.name == "lhaid" and text.strip()[:1].isalpha():
                return _name(text.strip())
            if entry.name == "systematics_arguments":
                return [word.rstrip(",") for word in re.findall(r"--\w+=[^'\"\s\]]*", text)]
            return _parse(entry.default, text)
        except ValueError as error:
            said = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
            raise Error(f"{where} is {said!r}; {error}") from None

    def _follow(self) -> None:
        """What MG5aMC sets by other entries."""
        values = self._values
        order = list(self.given)
        for of in _BOTH:
            for name in (f"{of}1", f"{of}2") if of in order else ():
                if name in order and order.index(name) > order.index(of):
                    continue
                if name in order and values[name] != values[of]:
                    self.repeated[of] = str(values[of]), f"{values[name]} ({name})"
                values[name] = values[of]
        if values["ptgmin"] > 0.0:
            values["pta"] = values["draj"] = 0.0
        if values["xqcut"] > 0.0:
            values["drjj"] = values["drjl"] = 0.0
            for name, together in (("ptj", values["ktscheme"] == 1), ("mmjj", True)):
                if values["auto_ptj_mjj"] and together and values[name] >= 0.0:
                    values[name] = values["xqcut"]
                elif values[name] > values["xqcut"]:
                    values[name] = 0.0
        if values["ickkw"] > 0 and values["use_syst"]:
            values["alpsfact"] = 1.0

    def check(self) -> None:
        """Refuses what a run would have to leave out."""
        for name, known in _CHOICES.items():
            value = self[name].lower() if isinstance(self[name], str) else self[name]
            if value not in known:
                listed = " or ".join(map(str, known))
                raise Error(f"{self.source}: {name} = {self[name]} cannot be honoured; set it to {listed}")
        if not self["run_tag"] or set(self["run_tag"]) & set("/\\\0"):
            raise Error(f"{self.source}: run_tag = {self['run_tag']} is part of a file's name; make it one word without /")
        self._check_ranges()
        self._check_matching()
        for entry in ENTRIES.values():
            # MG5aMC writes 0 for a decay, and neither is a cut unless it is above that.
            merges = entry.name not in ("ktdurham", "ptlund") or self[entry.name] > 0.0
            if entry.kind == REFUSED and merges and not _same(self[entry.name], entry.default):
                harmless, _, cure = entry.said.partition("; ")
                raise Error(
                    f"{self.source}: {entry.name} = {self[entry.name]} cannot be honoured ({cure}); set it to "
                    f"{harmless}, or run MadEvent (mebridge link)"
                )

    def _check_ranges(self) -> None:
        for name, (least, largest) in _RANGES.items():
            if not least <= self[name] <= largest:
                above = "at least 0" if largest == math.inf else f"from {least:g} to {largest:g}"
                raise Error(f"{self.source}: {name} = {self[name]:g}; it must be {above}")
        fixed = {name: self[entry] for name, entry in _FIXED.items()}
        isolated = dict.fromkeys(("r0gamma", "epsgamma"), self["ptgmin"] > 0.0)
        for name, matters in {"scalefact": True, **fixed, **isolated}.items():
            if matters and not self[name] > 0.0:
                raise Error(f"{self.source}: {name} = {self[name]:g}; it must be positive")

    def _check_matching(self) -> None:
        where = self.source
        for name in ("xqcut", "xmtcentral"):
            if self[name] < 0.0:
                raise Error(f"{where}: {name} = {self[name]:g}; it must be 0 or an energy in GeV")
        for name in ("alpsfact", "d"):
            if self[name] <= 0.0:
                raise Error(f"{where}: {name} = {self[name]:g}; it must be a positive number")
        if self["ickkw"] == 1 and self["maxjetflavor"] > 5:
            raise Error(f"{where}: maxjetflavor = {self['maxjetflavor']} is too large for ickkw = 1; set it to 5 or less")
        if self["ickkw"] == 1 and (abs(self["lpp1"]) != 1 or abs(self["lpp2"]) != 1):
            raise Error(f"{where}: ickkw = 1 is for beams of hadrons; set ickkw to 0")


def of_both(changed: Mapping[str, Any]) -> dict[str, str]:
    """Entries that are changed, in small letters and as cards have them; what stands for both beams is changed for both."""
    found: dict[str, str] = {}
    for name, value in changed.items():
        if not isinstance(name, str):
            raise TypeError(f"an entry of a run card is {name!r}; its name must be a str")
        text = _as_card(value)
        if found.setdefault(name.lower(), text) != text:
            raise ValueError(f"{name.lower()} of the run card is to be {found[name.lower()]} and {text}; give one of them")
    both = {name: found[name] for name in _BOTH if name in found}
    # What is said of one beam stands after what is said of both, and holds.
    return both | {f"{name}{beam}": value for name, value in both.items() for beam in "12"} | found


def _as_card(value: Any) -> str:
    """A value of Python as a card has it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {one}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(repr(one) if isinstance(one, str) else str(one) for one in value) + "]"
    return str(value)


def _entry(line: str) -> str:
    """A line of a card without its comment."""
    return line.split("#")[0].split("!")[0]


def repeated(text: str) -> dict[str, tuple[str, str]]:
    """Entries that a card has twice with different values: the last of them, which holds, and one before it."""
    found: dict[str, tuple[str, str]] = {}
    last: dict[str, str] = {}
    for line in text.splitlines():
        for name, value in parse(line).items():
            if last.get(name, value) != value:
                found[name] = value, last[name]
            last[name] = value
    return found


def parse(text: str) -> dict[str, str]:
    """Entries of a card by their names in small letters, in their order; of one that it has twice the last, as in MG5aMC."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        value, equals, name = _entry(line).rpartition("=")
        if equals:
            found.pop(name.strip().lower(), None)
            found[name.strip().lower()] = value.strip()
    return found


def changed(text: str, values: Mapping[str, Any]) -> str:
    """A card with other values of some entries, which are added where it has none."""
    changed, lines, there = {name.lower(): value for name, value in values.items()}, [], set()
    for line in text.splitlines():
        before, equals, name = _entry(line).rpartition("=")
        word = name.strip().lower()
        if equals and word in changed:
            there.add(word)
            comment = line[len(before) + 1 + len(name) :]
            line = f"  {changed[word]} = {name.strip()} {comment}".rstrip()
        lines.append(line)
    lines += [f"  {value} = {name}" for name, value in changed.items() if name not in there]
    return "\n".join(lines) + "\n"


def missing(given: Collection[str]) -> dict[str, Value]:
    """Defaults of what a card leaves out, for who reads it and has none."""
    both = {name for of in _BOTH for name in (of, f"{of}1", f"{of}2") if {of, f"{of}1", f"{of}2"} & set(given)}
    return {name: entry.default for name, entry in ENTRIES.items() if name not in given and name not in both}


def _parse(default: Value, text: str) -> Any:
    """What a text says; an error says what it must be."""
    text = text.strip()
    if isinstance(default, bool):
        if text.lower() not in _TRUE + _FALSE:
            raise ValueError("it must be True or False")
        return text.lower() in _TRUE
    if isinstance(default, (int, float)):
        return _number(text, whole=isinstance(default, int))
    if isinstance(default, list):
        return [_word(word) for word in text.strip("[]() ").replace(",", " ").split()]
    if isinstance(default, dict):
        return _dictionary(default, text)
    return text.strip("'\"")


def _number(text: str, whole: bool) -> Any:
    """As Fortran and Python write it; MG5aMC takes ``10k`` as well."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(f"it must be a {'whole ' if whole else ''}number")
    value = float(found[1].lower().replace("d", "e")) * {"k": 1e3, "m": 1e6}.get(found[2].lower(), 1.0)
    if not math.isfinite(value):
        raise ValueError("it must be a finite number")
    if whole and not (value.is_integer() and abs(value) < _LARGEST):
        raise ValueError(f"it must be a whole number below {_LARGEST:g}")
    # A seed may have more digits than a double.
    return (int(text) if _WHOLE.fullmatch(text) else int(value)) if whole else value


def _name(text: str) -> str:
    # What Python takes for a number is no name of a set.
    if not _NAME.fullmatch(text) or text.lower() in ("inf", "infinity", "nan"):
        raise ValueError("it must be the number of a set of parton densities, or its name")
    return text


def _word(text: str) -> Any:
    text = text.strip("'\"")
    return int(text) if _WHOLE.fullmatch(text) else text


def _dictionary(default: Mapping[str, Value], text: str) -> dict[Any, Any]:
    """``{6: 100, 25: 50}``, also without braces."""
    logical, by_name = "default" in default, "__type__" in default
    example = "{6: True}" if logical else "{name: 1.0}" if by_name else "{6: 50}"
    found: dict[Any, Any] = {}
    for part in filter(str.strip, text.removeprefix("{").removesuffix("}").split(",")):
        name, colon, value = part.partition(":")
        if not colon:
            raise ValueError(f"it must be a dict, such as {example}")
        word = name.strip().strip("'\"")
        # So MG5aMC keeps the type of an entry.
        if word == "__type__" and not by_name:
            continue
        named = by_name or (logical and word == "default")
        if not named and (not _WHOLE.fullmatch(word) or int(word) <= 0):
            raise ValueError(
                f"{word!r} is no PDG code; write that of the particle, which stands for its antiparticle as well, such as {example}"
            )
        key: str | int = word if named else int(word)
        try:
            one = _parse(False if logical else 0.0, value)
        except ValueError as error:
            raise ValueError(f"{value.strip()!r} is wrong, {error}") from None
        if found.setdefault(key, one) != one:
            raise ValueError(f"it has two values of {key}; leave one")
    return found


def _same(value: Any, other: Any) -> bool:
    if isinstance(value, str) and isinstance(other, str):
        return value.lower() == other.lower()
    if isinstance(other, list):
        return sorted(map(str, value)) == sorted(map(str, other))
    return bool(value == other)


def table() -> str:
    """All entries as tables of Markdown."""
    text = ""
    for kind in (HONOURED, REFUSED, IGNORED):
        head = {
            HONOURED: "| entry | default | meaning |",
            REFUSED: "| entry | harmless value | why, and the cure |",
            IGNORED: "| entry | default | why |",
        }[kind]
        text += f"### {kind.capitalize()}\n\n{head}\n|---|---|---|\n"
        rows: dict[tuple[str, str], list[str]] = {}
        for entry in ENTRIES.values():
            if entry.kind == kind:
                said = entry.said if kind != REFUSED else entry.said.partition("; ")[2]
                rows.setdefault((repr(entry.default), said), []).append(f"`{entry.name}`")
        for (default, said), names in rows.items():
            text += f"| {', '.join(names)} | `{default}` | {said} |\n"
        text += "\n"
    return text
