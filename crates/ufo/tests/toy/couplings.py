from .object_library import all_couplings, Coupling

more = False

GC_1 = Coupling(name = 'GC_1', value = '-G', order = {'QCD':1})
GC_2 = Coupling(name = 'GC_2', value = 'complex(0,1)*G', order = {'QCD':1})
GC_3 = Coupling(name = 'GC_3', value = 'complex(0,1)*gx', order = {'NP':1})
GC_4 = Coupling(name = 'GC_4', value = 'complex(0,1)*Mix', order = {'NP':1 if more else 1, 'QCD':2 if more else 0})
GC_5 = Coupling(name = 'GC_5', value = 'complex(0,1)*gy*turn', order = {'NP':1})
GC_6 = Coupling(name = 'GC_6', value = 'complex(0,1)*gy*complexconjugate(turn)', order = {'NP':1})
GC_7 = Coupling(name = 'GC_7', value = 'complex(0,1)*mix*aS', order = {'NP':1})
GC_8 = Coupling(name = 'GC_8', value = 'complex(0,1)*gx', order = {'NP':1})
GC_9 = Coupling(name = 'GC_9', value = 'complex(0,1)/MZp**2', order = {'NP':2})
UV = Coupling(name = 'UV', value = {-1:'G', 0:'0'}, order = {'QCD':3})
