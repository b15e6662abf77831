"""The exporter of `output mebridge`.

It runs in MG5aMC's interpreter, and so in any Python that MG5aMC takes, 2.7 among them.
"""

from __future__ import absolute_import

import io
import logging
import os
import subprocess

from madgraph import InvalidCmd, MadGraph5Error
from madgraph.iolibs import export_v4, group_subprocs

logger = logging.getLogger("madgraph.mebridge")
# Options of `output` that are those of `mebridge link`.
_OPTIONS = ("copy", "vector", "library")


def _installed():
    """The command `mebridge` and its library: those that put this plugin here, or those of the environment and PATH."""
    with io.open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "installed.txt"), encoding="utf-8") as file:
        there = file.read().splitlines()
    given = [os.environ.get(name) for name in ("MEBRIDGE_COMMAND", "MEBRIDGE_LIBRARY")]
    command, library = [one or other for one, other in zip(given, there)]
    return command if os.path.isfile(command) else "mebridge", library if os.path.isfile(library) else None


class LinkedMadEvent(export_v4.ProcessExporterFortranMEGroup):
    """Writes what `output madevent` writes, and links it."""

    # How MG5aMC is to treat it: as `output madevent`.
    check = True
    exporter = "v4"
    output = "Template"
    sa_symmetry = False

    def __init__(self, dir_path="", opt=None):
        opt = dict(opt or {}, export_format="madevent")
        super(LinkedMadEvent, self).__init__(dir_path, opt)

    def pass_information_from_cmd(self, cmd):
        super(LinkedMadEvent, self).pass_information_from_cmd(cmd)
        amplitude = cmd._curr_amps[0]
        if amplitude.get("process").get("perturbation_couplings"):
            raise InvalidCmd("mebridge has no loops: use 'output madevent'")
        # From here on MG5aMC writes, configures and launches the directory as that of `output madevent`.
        cmd._export_format = "madevent"
        self.opt["madanalysis5"] = cmd.options["madanalysis5_path"]

    def export_processes(self, matrix_elements, fortran_model):
        if not isinstance(matrix_elements, group_subprocs.SubProcessGroupList):
            raise InvalidCmd(
                "'output mebridge' writes grouped subprocesses: use 'set group_subprocesses True', or 'output madevent'"
                " and 'mebridge link'"
            )
        return super(LinkedMadEvent, self).export_processes(matrix_elements, fortran_model)

    def finalize(self, *arguments, **named):
        super(LinkedMadEvent, self).finalize(*arguments, **named)
        options = self.opt.get("output_options") or {}
        command, library = _installed()
        call = [command, "link"]
        if library is not None:
            options = dict({"library": library}, **options)
        for name in _OPTIONS:
            if name in options:
                call.append("--%s" % name)
                if options[name] is not True:
                    call.append(str(options[name]))
        call.append(self.dir_path)
        try:
            child = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except OSError as error:
            raise MadGraph5Error(
                "%s is MadEvent's own: the command %s cannot be run (%s). Use 'mebridge plugin' again"
                % (self.dir_path, call[0], error)
            )
        said = child.communicate()[0].decode("utf-8", "replace").strip()
        if child.returncode:
            raise MadGraph5Error("%s is MadEvent's own, and not linked: %s" % (self.dir_path, said))
        for line in said.splitlines():
            logger.info(line)
        logger.info("'launch' runs MadEvent on mebridge; 'mebridge events %s' makes events without it", self.dir_path)
