"""`output mebridge DIR` in MG5aMC: what `output madevent DIR` writes, linked to mebridge.

`mebridge plugin MG5_FOLDER` puts this folder into PLUGIN, with the command that it is to call in installed.txt.
"""

from . import output

# What MG5aMC asks a plugin for.
minimal_mg5amcnlo_version = (2, 9, 0)
# The exporter that it derives from is there from 2.9 on; a later version that has none says so.
maximal_mg5amcnlo_version = (3, 99, 999)
# It has been run with 3.4.2 and 3.5.7.
latest_validated_version = (3, 5, 7)

new_output = {"mebridge": output.LinkedMadEvent}
