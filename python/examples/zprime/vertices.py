from . import couplings as C
from . import lorentz as L
from . import particles as P
from .object_library import Vertex

V_1 = Vertex(
    name="V_1",
    particles=[P.d__tilde__, P.d, P.a],
    color=["Identity(1,2)"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GA_d, (0, 1): C.GA_d},
)
V_2 = Vertex(
    name="V_2",
    particles=[P.d__tilde__, P.d, P.Z],
    color=["Identity(1,2)"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GZ_dL, (0, 1): C.GZ_dR},
)
V_3 = Vertex(
    name="V_3",
    particles=[P.d__tilde__, P.d, P.X],
    color=["Identity(1,2)"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GX_q, (0, 1): C.GX_q},
)
V_4 = Vertex(
    name="V_4",
    particles=[P.u__tilde__, P.u, P.a],
    color=["Identity(1,2)"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GA_u, (0, 1): C.GA_u},
)
V_5 = Vertex(
    name="V_5",
    particles=[P.u__tilde__, P.u, P.Z],
    color=["Identity(1,2)"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GZ_uL, (0, 1): C.GZ_uR},
)
V_6 = Vertex(
    name="V_6",
    particles=[P.u__tilde__, P.u, P.X],
    color=["Identity(1,2)"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GX_q, (0, 1): C.GX_q},
)
V_7 = Vertex(
    name="V_7",
    particles=[P.s__tilde__, P.s, P.a],
    color=["Identity(1,2)"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GA_d, (0, 1): C.GA_d},
)
V_8 = Vertex(
    name="V_8",
    particles=[P.s__tilde__, P.s, P.Z],
    color=["Identity(1,2)"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GZ_dL, (0, 1): C.GZ_dR},
)
V_9 = Vertex(
    name="V_9",
    particles=[P.s__tilde__, P.s, P.X],
    color=["Identity(1,2)"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GX_q, (0, 1): C.GX_q},
)
V_10 = Vertex(
    name="V_10",
    particles=[P.c__tilde__, P.c, P.a],
    color=["Identity(1,2)"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GA_u, (0, 1): C.GA_u},
)
V_11 = Vertex(
    name="V_11",
    particles=[P.c__tilde__, P.c, P.Z],
    color=["Identity(1,2)"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GZ_uL, (0, 1): C.GZ_uR},
)
V_12 = Vertex(
    name="V_12",
    particles=[P.c__tilde__, P.c, P.X],
    color=["Identity(1,2)"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GX_q, (0, 1): C.GX_q},
)
V_13 = Vertex(
    name="V_13",
    particles=[P.e__tilde__, P.e, P.a],
    color=["1"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GA_l, (0, 1): C.GA_l},
)
V_14 = Vertex(
    name="V_14",
    particles=[P.e__tilde__, P.e, P.Z],
    color=["1"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GZ_lL, (0, 1): C.GZ_lR},
)
V_15 = Vertex(
    name="V_15",
    particles=[P.e__tilde__, P.e, P.X],
    color=["1"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GX_l, (0, 1): C.GX_l},
)
V_16 = Vertex(
    name="V_16",
    particles=[P.mu__tilde__, P.mu, P.a],
    color=["1"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GA_l, (0, 1): C.GA_l},
)
V_17 = Vertex(
    name="V_17",
    particles=[P.mu__tilde__, P.mu, P.Z],
    color=["1"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GZ_lL, (0, 1): C.GZ_lR},
)
V_18 = Vertex(
    name="V_18",
    particles=[P.mu__tilde__, P.mu, P.X],
    color=["1"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GX_l, (0, 1): C.GX_l},
)
V_19 = Vertex(
    name="V_19",
    particles=[P.d__tilde__, P.d, P.g],
    color=["T(3,2,1)"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GG, (0, 1): C.GG},
)
V_20 = Vertex(
    name="V_20",
    particles=[P.u__tilde__, P.u, P.g],
    color=["T(3,2,1)"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GG, (0, 1): C.GG},
)
V_21 = Vertex(
    name="V_21",
    particles=[P.s__tilde__, P.s, P.g],
    color=["T(3,2,1)"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GG, (0, 1): C.GG},
)
V_22 = Vertex(
    name="V_22",
    particles=[P.c__tilde__, P.c, P.g],
    color=["T(3,2,1)"],
    lorentz=[L.FFV1, L.FFV2],
    couplings={(0, 0): C.GG, (0, 1): C.GG},
)
