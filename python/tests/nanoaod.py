"""Weights of an event file as NanoAOD of CMS finds them: by the lines of <initrwgt> alone, and by numbers.

The expressions are those of GenWeightsTableProducer.cc of cmssw, for files of MG5aMC 2.6 and later.
"""

import re

GROUP = re.compile(r'<weightgroup\s+(?:name|type)="(.*)"\s+combine="(.*)"\s*>')
END = re.compile(r"</weightgroup>")
SCALE = re.compile(
    r'<weight\s+(?:.*\s+)?id="(\d+)"\s*(?:lhapdf=\d+|dyn=\s*-?\d+)?\s*'
    r'((?:[mM][uU][rR]|renscfact)="(\S+)"\s+(?:[mM][uU][Ff]|facscfact)="(\S+)")(\s+.*)?</weight>'
)
MEMBER = re.compile(
    r'<weight\s+id="(\d+)"\s*MUR="(?:\S+)"\s*MUF="(?:\S+)"\s*(?:PDF set|lhapdf|PDF|pdfset)\s*=\s*"(\d+)"\s*>\s*'
    r"(?:PDF=(\d+)\s*MemberID=(\d+))?\s*(?:\s.*)?</weight>"
)


def weights(header, sets):
    """Scales by their numbers, sorted, and of sets (numbers of their first members by names) the members with their numbers,
    as the producer has them: a text of an <initrwgt>."""
    scales, members, lines = {}, {}, iter(header.splitlines())
    for line in lines:
        group = GROUP.search(line)
        if not group:
            continue
        name = group[1]
        for line in lines:
            if END.search(line):
                break
            if name == "Central scale variation" and (found := SCALE.search(line)):
                scales[found[1]] = (float(found[3]), float(found[4]))
            elif name in sets and (found := MEMBER.search(line)):
                members[found[1]] = sets[name] + int(found[4] or 0)
    return scales, members
