use super::*;
use crate::random::{ACCEPTANCE, Philox};
use crate::sums::WeightSums;

/// The points that become events, in their order.
fn events(weights: &[f64], numbers: &[f64], threshold: f64) -> impl Iterator<Item = usize> {
    let pairs = weights.iter().zip(numbers).enumerate();
    pairs.filter_map(move |(point, (&weight, &number))| {
        is_event(weight, number, threshold).then_some(point)
    })
}

fn numbers(channel: u32, dimension: u32, count: usize) -> Vec<f64> {
    let philox = Philox {
        seed: 17,
        round: 0,
        channel,
    };
    (0..count as u64)
        .map(|point| philox.number(point, dimension))
        .collect()
}

/// Weights from a power law, whose largest values lie far above the others; a third is cut, a tenth negative.
fn tail(count: usize) -> Vec<f64> {
    let (sizes, signs) = (numbers(0, 0, count), numbers(0, 1, count));
    let weight = |(u, sign): (&f64, &f64)| match sign {
        ..0.33 => 0.0,
        ..0.43 => -u.powf(-0.4),
        _ => u.powf(-0.4),
    };
    sizes.iter().zip(&signs).map(weight).collect()
}

fn spectrum(weights: &[f64]) -> Spectrum {
    let mut spectrum = Spectrum::default();
    spectrum.add(weights);
    spectrum
}

/// The excess by its definition.
fn excess(weights: &[f64], threshold: f64) -> f64 {
    let above = weights.iter().map(|w| (w.abs() - threshold).max(0.0));
    above.sum::<f64>() / weights.iter().map(|w| w.abs()).sum::<f64>()
}

fn chi2(found: &[f64], expected: &[f64], variances: &[f64]) -> f64 {
    let parts = found.iter().zip(expected).zip(variances);
    parts.map(|((n, e), v)| (n - e).powi(2) / v).sum()
}

#[test]
fn a_threshold_leaves_the_excess_that_is_allowed() {
    let weights = tail(10_000);
    let spectrum = spectrum(&weights);
    for overweight in [0.001, 0.01, 0.05, 0.3, 0.9] {
        let threshold = spectrum.threshold(overweight).expect("weights");
        let found = excess(&weights, threshold);
        assert!(found < overweight + 1e-9, "{found}, {overweight}");
        assert!(found > 0.97 * overweight, "{found}, {overweight}");
        assert!((spectrum.excess(threshold) - overweight).abs() < 1e-9);
        let events: f64 = weights.iter().map(|w| (w.abs() / threshold).min(1.0)).sum();
        let estimate = spectrum.events(threshold);
        assert!(
            (estimate / events - 1.0).abs() < 0.005,
            "{estimate}, {events}"
        );
    }
}

#[test]
fn outermost_thresholds_are_the_largest_weight_and_one_below_all() {
    let weights = [0.3, -7.7, 0.0, 1.0, f64::NAN, f64::INFINITY, 1e150];
    let spectrum = spectrum(&weights);
    assert_eq!(spectrum.largest(), 7.7);
    assert_eq!(spectrum.threshold(0.0), Some(7.7));
    assert_eq!([spectrum.excess(7.7), spectrum.excess(9.0)], [0.0; 2]);
    let least = spectrum.threshold(1.0).expect("weights");
    assert!(least <= 0.3 && least > 0.28, "{least}");
    let few = spectrum.excess(1e-9);
    assert!((few - (1.0 - 3e-9 / 9.0)).abs() < 1e-8, "{few}");
}

#[test]
fn equal_weights_are_their_own_threshold() {
    for weight in [1.0, 1.03, 3e-310, 1e140] {
        let spectrum = spectrum(&[weight; 100]);
        let threshold = spectrum.threshold(0.0);
        assert_eq!(threshold, Some(weight));
        let events = spectrum.events(weight);
        assert!((events - 100.0).abs() < 1e-6, "{events}");
    }
}

#[test]
fn without_weights_there_is_no_threshold() {
    assert_eq!(Spectrum::default().threshold(0.01), None);
    assert_eq!(spectrum(&[0.0, f64::NAN, 1e141]).threshold(0.01), None);
}

#[test]
fn a_spectrum_does_not_depend_on_order_or_split() {
    let mut weights = tail(2000);
    // Sizes from 1e-12 to 1e12: most of them fall below the range.
    for (i, weight) in weights.iter_mut().enumerate() {
        *weight *= 10_f64.powi((i % 25) as i32 - 12);
    }
    let expected = spectrum(&weights);
    let mut merged = Spectrum::default();
    for block in weights.chunks(128) {
        merged.merge(&spectrum(block));
    }
    assert_eq!(merged, expected);
    let mut backwards = spectrum(&weights[1000..]);
    backwards.merge(&spectrum(&weights[..1000]));
    assert_eq!(backwards, expected);
    weights.sort_by(f64::total_cmp);
    assert_eq!(spectrum(&weights), expected);
    weights.reverse();
    assert_eq!(spectrum(&weights), expected);
    backwards.merge(&Spectrum::default());
    assert_eq!(backwards, expected);
    // In ascending order, each bin replaces one that is dropped.
    let mut sizes: Vec<f64> = (0..600).map(|bin| edge(16_000 + bin)).collect();
    let upwards = spectrum(&sizes);
    sizes.reverse();
    assert_eq!(upwards, spectrum(&sizes));
    assert_eq!(upwards, spectrum(&sizes[..256]));
}

#[test]
fn events_have_the_distribution_of_the_weights() {
    const BINS: usize = 10;
    let count = 30_000;
    let (places, accepted) = (numbers(1, 0, count), numbers(1, ACCEPTANCE, count));
    // 0.6 x^-0.4 from 0 to 1: in bin i the integral is ((i + 1) / 10)^0.6 - (i / 10)^0.6.
    let weights: Vec<f64> = places.iter().map(|x| 0.6 * x.powf(-0.4)).collect();
    let integral = |i: usize| (i as f64 / BINS as f64).powf(0.6);
    let expected: Vec<f64> = (0..BINS).map(|i| integral(i + 1) - integral(i)).collect();
    for overweight in [0.02, 0.5] {
        let threshold = spectrum(&weights).threshold(overweight).expect("weights");
        let (mut found, mut squares) = ([0.0; BINS], [0.0; BINS]);
        let each = threshold / count as f64;
        let mut overweights = 0;
        for point in events(&weights, &accepted, threshold) {
            let weight = event_weight(weights[point], threshold);
            assert!(weight >= 1.0);
            overweights += u32::from(weight > 1.0);
            let bin = (places[point] * BINS as f64) as usize;
            found[bin] += each * weight;
            squares[bin] += (each * weight).powi(2);
        }
        assert!(overweights > 10, "{overweights}");
        // 10 degrees of freedom: 10 +- 4.5.
        let chi2 = chi2(&found, &expected, &squares);
        assert!((1.0..30.0).contains(&chi2), "{overweight}: {chi2}");
    }
}

/// Spectra of several channels whose largest weights differ.
fn tails() -> [Vec<f64>; 3] {
    let powers = [0.1, 0.3, 0.45].into_iter().zip(0..);
    let of = powers.map(|(power, channel)| {
        numbers(channel, 0, 3000)
            .iter()
            .map(|u| f64::powf(*u, -power))
            .collect()
    });
    let mut tails: Vec<Vec<f64>> = of.collect();
    // There is a gap between the largest size and the others.
    tails[0][7] = 40.0;
    tails.try_into().expect("three")
}

#[test]
fn the_threshold_of_one_channel_is_its_own() {
    for weights in tails() {
        let spectrum = spectrum(&weights);
        for overweight in [0.0, 0.001, 0.01, 0.1] {
            let [found] = thresholds(&[(&spectrum, 3000)], overweight)[..] else {
                panic!("one threshold");
            };
            let (found, own) = (found.unwrap(), spectrum.threshold(overweight).unwrap());
            assert!((found / own - 1.0).abs() < 1e-12, "{found}, {own}");
        }
    }
    let nothing = Spectrum::default();
    assert_eq!(thresholds(&[(&nothing, 3000)], 0.01), [None]);
}

#[test]
fn thresholds_of_channels_together_have_the_least_sum() {
    let tails = tails();
    let spectra = tails.each_ref().map(|weights| spectrum(weights));
    let both = spectra.each_ref().map(|spectrum| (spectrum, 3000));
    let overweight = 0.01;
    let found: Vec<f64> = (thresholds(&both, overweight).into_iter())
        .map(|threshold| threshold.expect("weights"))
        .collect();
    let own = spectra
        .each_ref()
        .map(|of| of.threshold(overweight).unwrap());
    let (sum, of_own) = (found.iter().sum::<f64>(), own.iter().sum::<f64>());
    assert!(sum < 0.95 * of_own, "{found:?}, {own:?}");
    let means = tails
        .each_ref()
        .map(|weights| weights.iter().sum::<f64>() / 3000.0);
    let excesses = |thresholds: &[f64]| -> Vec<f64> {
        let of = tails.iter().zip(thresholds);
        of.map(|(weights, threshold)| excess(weights, *threshold))
            .collect()
    };
    let carried = |thresholds: &[f64]| -> f64 {
        excesses(thresholds)
            .iter()
            .zip(means)
            .map(|(excess, mean)| excess * mean)
            .sum()
    };
    let allowed = overweight * means.iter().sum::<f64>();
    assert!((0.97..1.0 + 1e-9).contains(&(carried(&found) / allowed)));
    let most = MAX_CHANNEL_EXCESS * overweight + 1e-9;
    assert!(excesses(&found).iter().all(|&excess| excess < most));
    // Lowering one threshold by a bin and raising another by no more increases the excess.
    for (falls, rises) in [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)] {
        let mut other = found.clone();
        let by = 0.05 * f64::min(found[falls], found[rises]);
        other[falls] -= by;
        other[rises] += by;
        // The positions of points within a bin are unknown.
        let more = carried(&other) > 0.999 * carried(&found);
        assert!(more || excesses(&other)[falls] > most, "{falls} {rises}");
    }
}

#[test]
fn events_of_a_larger_threshold_are_among_those_of_a_smaller_one() {
    let weights = tail(3000);
    let accepted = numbers(0, ACCEPTANCE, weights.len());
    let [few, many] = [9.0, 2.5]
        .map(|threshold| -> Vec<usize> { events(&weights, &accepted, threshold).collect() });
    assert!(few.len() > 100 && few.len() < many.len());
    let again =
        (many.iter().copied()).filter(|&point| is_event(weights[point], accepted[point], 9.0));
    assert_eq!(again.collect::<Vec<_>>(), few);
}

#[test]
fn weights_that_are_cut_or_not_usable_make_no_events() {
    for weight in [0.0, -0.0, f64::NAN, f64::INFINITY, 1e141] {
        assert!(!is_event(weight, f64::EPSILON / 2.0, 1e-300), "{weight}");
    }
    assert!(is_event(-2.0, 1.0 - f64::EPSILON / 2.0, 2.0));
    assert_eq!([-3.0, 0.5].map(|w| event_weight(w, 2.0)), [-1.5, 1.0]);
}

/// Two channels of one integrand, with different spreads of weights and so different thresholds, have numbers of points
/// in proportion to their thresholds.
#[test]
fn channels_together_have_their_shares_of_the_cross_section() {
    let count = 20_000;
    let channels: Vec<(Vec<f64>, Vec<f64>)> = [(0, 0.2, 1.0), (1, 0.4, 3.0)]
        .map(|(channel, power, factor)| {
            let weight = |x: &f64| factor * (1.0 - power) * x.powf(-power);
            let weights = numbers(channel, 0, count).iter().map(weight).collect();
            (weights, numbers(channel, ACCEPTANCE, count))
        })
        .into();
    let thresholds = [0, 1].map(|channel| {
        let overweight = [0.3, 0.1][channel];
        let threshold = spectrum(&channels[channel].0).threshold(overweight);
        threshold.expect("weights")
    });
    let luminosity = count as f64 / f64::max(thresholds[0], thresholds[1]);
    let weigh = |channel: usize| {
        let (weights, accepted) = &channels[channel];
        let points = (luminosity * thresholds[channel]) as usize;
        let own: Vec<f64> = events(&weights[..points], &accepted[..points], thresholds[channel])
            .map(|point| event_weight(weights[point], thresholds[channel]))
            .collect();
        WeightSums::new(&own)
    };
    let [first, second] = [weigh(0), weigh(1)];
    let sum = |of: &WeightSums| of.points() as f64 * of.mean().mean;
    let error = |of: &WeightSums| of.points() as f64 * of.mean().error;
    let ratio = sum(&second) / sum(&first);
    let expected = 3.0;
    let error = ratio * f64::hypot(error(&first) / sum(&first), error(&second) / sum(&second));
    assert!(error < 0.06, "{error}");
    let pull = (ratio - expected) / error;
    assert!(pull.abs() < 3.0, "{ratio}, {expected}");
}
