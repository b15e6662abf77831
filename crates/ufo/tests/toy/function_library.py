import cmath
from object_library import all_functions, Function

complexconjugate = Function(name = 'complexconjugate',
                            arguments = ('z',),
                            expression = 'z.conjugate()')

sec = Function(name = 'sec', arguments = ('z',), expression = '1./cmath.cos(z.real)')

cond = Function(name = 'cond',
                arguments = ('condition','ExprTrue','ExprFalse'),
                expression = '(ExprTrue if condition==0.0 else ExprFalse)')


def half(x):
    """One of two."""
    return x/2.
