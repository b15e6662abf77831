from .object_library import CouplingOrder

QCD = CouplingOrder(name="QCD", expansion_order=99, hierarchy=1)
QED = CouplingOrder(name="QED", expansion_order=99, hierarchy=2)
NP = CouplingOrder(name="NP", expansion_order=99, hierarchy=2)
