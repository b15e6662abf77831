from .object_library import all_propagators, Propagator

denominator = "P('mu', id) * P('mu', id) - Mass(id) * Mass(id) + complex(0,1) * Mass(id) * Width(id)"

V = Propagator(name = "V", numerator = "-1 * Metric(1, 2) + Metric(1,'mu')* P('mu', id) * P(2, id) / Mass(id)**2",
               denominator = denominator)
