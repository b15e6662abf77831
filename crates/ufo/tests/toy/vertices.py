from .object_library import all_vertices, Vertex
from . import particles as P
from . import couplings as C
from . import lorentz as L

V_1 = Vertex(name = 'V_1', particles = [ P.g, P.g, P.g ], color = [ 'f(1,2,3)' ], lorentz = [ L.VVV1 ],
             couplings = {(0,0):C.GC_1})
V_2 = Vertex(name = 'V_2', particles = [ P.q__tilde__, P.q, P.g ], color = [ 'T(3,2,1)' ],
             lorentz = [ L.FFV1, L.FFV2 ], couplings = {(0,0):C.GC_2,(0,1):C.GC_2})
V_3 = Vertex(name = 'V_3', particles = [ P.q__tilde__, P.q, P.zp ], color = [ 'Identity(1,2)' ],
             lorentz = [ L.FFV1, L.FFV2 ], couplings = {(0,0):C.GC_3,(0,1):C.GC_4})
V_4 = Vertex(name = 'V_4', particles = [ P.q__tilde__, P.x, P.s ], color = [ 'Identity(1,3)' ],
             lorentz = [ L.FFS1 ], couplings = {(0,0):C.GC_5})
V_5 = Vertex(name = 'V_5', particles = [ P.x, P.q, P.s__tilde__ ], color = [ 'Identity(2,3)' ],
             lorentz = [ L.FFS2 ], couplings = {(0,0):C.GC_6})
V_6 = Vertex(name = 'V_6', particles = [ P.x, P.x, P.g0 ], color = [ '1' ],
             lorentz = [ L.FFS1, L.FFS2 ], couplings = {(0,0):C.GC_7,(0,1):C.GC_8})
V_7 = Vertex(name = 'V_7', particles = [ P.q__tilde__, P.q, P.q__tilde__, P.q ],
             color = [ 'Identity(1,2)*Identity(3,4)', 'Identity(1,4)*Identity(2,3)' ],
             lorentz = [ L.FFFF1, L.FFFF2, L.FFFF3 ],
             couplings = {(0,0):C.GC_9,(1,1):C.GC_9,(0,2):C.GC_9})
