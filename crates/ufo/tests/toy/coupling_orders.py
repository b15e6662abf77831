from .object_library import all_orders, CouplingOrder

QCD = CouplingOrder(name = 'QCD', expansion_order = 99, hierarchy = 1)
NP = CouplingOrder(name = 'NP', expansion_order = 2, hierarchy = 3)
