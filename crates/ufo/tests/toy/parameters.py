# -*- coding: utf-8 -*-
from .object_library import all_parameters, Parameter
from .function_library import complexconjugate, sec, cond, half

ZERO = Parameter(name = 'ZERO', nature = 'internal', type = 'real', value = '0.0', texname = '0')

aS = Parameter(name = 'aS', nature = 'external', type = 'real', value = 0.118, texname = '\\alpha _s',
               lhablock = 'SMINPUTS', lhacode = [ 3 ])
gx = Parameter(name = 'gx', nature = 'external', type = 'real', value = 0.3,
               texname = 'g_x', lhablock = 'XSECTOR', lhacode = [ 1 ])
gy = Parameter('gy', 'external', 'real', 1/4., 'g_y', 'XSECTOR', [ 2 ])
phase = Parameter(name = 'phase', nature = 'external', type = 'real', value = 0.5,
                  texname = '\\phi', lhablock = 'XSECTOR', lhacode = [ 3, 1 ])
Mix = Parameter(name = 'Mix', nature = 'external', type = 'real', value = -0.3,
                texname = 'm', lhablock = 'XSECTOR', lhacode = [ 4 ])
MQ = Parameter(name = 'MQ', nature = 'external', type = 'real', value = 100., texname = 'M_q',
               lhablock = 'MASS', lhacode = [ 9000001 ])
MX = Parameter(name = 'MX', nature = 'external', type = 'real', value = 200., texname = 'M_X',
               lhablock = 'MASS', lhacode = [ 9000002 ])
MS = Parameter(name = 'MS', nature = 'external', type = 'real', value = 300., texname = 'M_S',
               lhablock = 'MASS', lhacode = [ 9000003 ])
MZp = Parameter(name = 'MZp', nature = 'external', type = 'real', value = 1000., texname = "M_{Z'}",
                lhablock = 'MASS', lhacode = [ 9000004 ])
WZp = Parameter(name = 'WZp', nature = 'external', type = 'real', value = 20., texname = "W_{Z'}",
                lhablock = 'DECAY', lhacode = [ 9000004 ])
WX = Parameter(name = 'WX', nature = 'external', type = 'real', value = 2., texname = "W_X",
               lhablock = 'DECAY', lhacode = [ 9000002 ])

G = Parameter(name = 'G', nature = 'internal', type = 'real',
              value = '2*cmath.sqrt(aS)*cmath.sqrt(cmath.pi)', texname = 'G')
turn = Parameter(name = 'turn', nature = 'internal', type = 'complex',
                 value = 'cmath.exp(complex(0,1)*phase)', texname = 't')
size = Parameter(name = 'size', nature = 'internal', type = 'real',
                 value = 'turn*complexconjugate(turn)*sec(phase) + cond(Mix, 1, half(2))', texname = 's')
mix = Parameter(name = 'mix', nature = 'internal', type = 'real', value = 'Mix**2', texname = 'm2')
