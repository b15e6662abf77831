from .object_library import all_decays, Decay
from . import particles as P

Decay_zp = Decay(name = 'Decay_zp', particle = P.zp,
                 partial_widths = {(P.q,P.q__tilde__):'(gx**2*MZp*cmath.sqrt(1 - (4*MQ**2)/MZp**2))/(4.*cmath.pi)',
                                   (P.x,P.x):'half(gy**2*MZp)',
                                   (P.s,P.s__tilde__):'gx**2*(MZp + MS)'})

Decay_x = Decay(name = 'Decay_x', particle = P.x,
                partial_widths = {(P.q,P.s__tilde__):'aS*MX*abs(Mix)',
                                  (P.s,P.q__tilde__):'aS*MX*abs(Mix)'})
