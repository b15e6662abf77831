//! The lines on alpha_s, scales and cuts that a run reports at its start.

use crate::Element;
use crate::run_card::RunCard;
use crate::run_card::value::Value;
use crate::scale;
use crate::text::{general, significant};
use mebridge::Result;
use mebridge::event_generator::JetBias;
use mebridge_phasespace::scales::Scale;

/// Scale at which alpha_s is reported, GeV.
pub const Z: f64 = 91.188;
/// Entries of cuts that are not windows, by the entry that switches each cut on.
const RULES: [(&str, &[&str]); 7] = [
    ("xetamin", &["xetamin"]),
    ("deltaeta", &["deltaeta"]),
    ("ptgmin", &["ptgmin", "r0gamma", "xn", "epsgamma", "isoem"]),
    ("xqcut", &["ickkw", "xqcut"]),
    ("xmtcentral", &["xmtcentral"]),
    ("ktdurham", &["ktdurham", "dparameter"]),
    ("ptlund", &["ptlund"]),
];

/// Whether a run depends on alpha_s.
pub fn is_strong(elements: &[Element]) -> bool {
    elements
        .iter()
        .any(|element| element.qcd_power() != Some(0))
}

/// The line of a run.
///
/// Args: `alpha_s` at [`Z`] and its source, if the run [depends on it](is_strong); the scales; the cuts.
pub fn line(alpha_s: Option<(f64, &str)>, scales: &str, cuts: &[String]) -> String {
    let alpha_s = match alpha_s {
        Some((value, source)) => {
            format!("alpha_s = {} at {Z} GeV ({source})", significant(value, 4))
        }
        None => "no alpha_s".to_owned(),
    };
    let cuts = match cuts.is_empty() {
        true => "none".to_owned(),
        false => cuts.join(", "),
    };
    format!("{alpha_s}; {scales}; cuts: {cuts}")
}

/// The scales of a run without a run card.
pub fn by_name(scale: &Scale) -> String {
    match (scale.renormalisation, scale.factor) {
        (Some(fixed), _) => format!("scale = {} GeV", general(fixed)),
        (None, 1.0) => format!("scale = {}", scale::name(scale.dynamical)),
        (None, factor) => format!(
            "scale = {} times {}",
            scale::name(scale.dynamical),
            general(factor)
        ),
    }
}

/// The scales of a run card.
///
/// Args: `densities` says whether the beams have parton densities.
pub fn by_run_card(card: &RunCard, densities: bool) -> String {
    let mut scales = vec![("scale", "fixed_ren_scale")];
    let of_beams = [
        ("lpp1", ("dsqrt_q2fact1", "fixed_fac_scale1")),
        ("lpp2", ("dsqrt_q2fact2", "fixed_fac_scale2")),
    ];
    let of_beams = of_beams
        .into_iter()
        .filter(|(lpp, _)| densities && card.integer(lpp) != 0);
    scales.extend(of_beams.map(|(_, scale)| scale));
    let fixed = scales.iter().filter(|(_, by)| card.flag(by));
    let mut names: Vec<&str> = fixed.map(|(name, _)| *name).collect();
    if names.len() < scales.len() {
        names.extend(["dynamical_scale_choice", "scalefact"]);
    }
    let shown: Vec<String> = names.into_iter().map(|name| entry(card, name)).collect();
    shown.join(", ")
}

/// Entries of a run card for the cuts in effect.
///
/// Args: `entries` are those of the windows of all matrix elements, such as `ptj = 20`.
pub fn cuts_of_run_card<'a>(
    entries: impl IntoIterator<Item = &'a str>,
    card: &RunCard,
) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let rules = RULES.iter().filter(|(name, _)| card.number(name) > 0.0);
    let rules = rules.flat_map(|(_, names)| names.iter().map(|name| entry(card, name)));
    for entry in entries.into_iter().map(str::to_owned).chain(rules) {
        if !found.contains(&entry) {
            found.push(entry);
        }
    }
    found
}

/// Returns what a run card says about a bias, for the end of the line.
///
/// # Errors
/// See [`RunCard::bias`].
pub fn bias(card: &RunCard) -> Result<String> {
    let bias = card.bias()?.map(|JetBias { target, power }| {
        let [target, power] = [target, power].map(general);
        format!("; bias: (pt of the hardest jet / {target} GeV)^{power}")
    });
    Ok(bias.unwrap_or_default())
}

/// An entry with its value.
fn entry(card: &RunCard, name: &str) -> String {
    match card.value(name) {
        Value::Flag(_) => format!("{name} = {}", card.value(name)),
        _ => format!("{name} = {}", general(card.number(name))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::ScaleChoice;

    fn card(values: &[(&str, &str)]) -> RunCard {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let given = values.iter().map(owned).collect();
        RunCard::from_entries(given, "run_card.dat", &[]).unwrap()
    }

    #[test]
    fn a_run_says_what_holds() {
        let cuts = ["pt = 20".to_owned(), "etal = 2.5".to_owned()];
        assert_eq!(
            line(Some((0.129_999_9, "nn23lo1")), "scale = ht/2", &cuts),
            "alpha_s = 0.13 at 91.188 GeV (nn23lo1); scale = ht/2; cuts: pt = 20, etal = 2.5"
        );
        assert_eq!(
            line(None, "scale = 91 GeV", &[]),
            "no alpha_s; scale = 91 GeV; cuts: none"
        );
    }

    #[test]
    fn scales_by_name() {
        let stated = |choice: Option<ScaleChoice>, factor, densities| {
            scale::stated(choice.as_ref(), factor, 13000.0, densities)
        };
        let named = |name: &str| Some(ScaleChoice::Dynamical(name.to_owned()));
        let shown =
            |choice, factor, densities| by_name(&stated(choice, factor, densities).unwrap());
        assert_eq!(shown(None, 1.0, true), "scale = ht/2");
        assert_eq!(shown(None, 1.0, false), "scale = 13000 GeV");
        assert_eq!(shown(named("et"), 0.5, true), "scale = et times 0.5");
        assert_eq!(
            shown(Some(ScaleChoice::Fixed(91.1876)), 1.0, true),
            "scale = 91.1876 GeV"
        );
        let error = |choice, factor| stated(choice, factor, true).unwrap_err().to_string();
        assert_eq!(
            error(named("mt"), 1.0),
            "there is no scale 'mt'; there are et, ht, ht/2, shat, or a number in GeV"
        );
        assert!(
            error(Some(ScaleChoice::Fixed(91.0)), 2.0)
                .starts_with("scale_factor multiplies a scale that is not")
        );
        assert!(
            error(Some(ScaleChoice::Fixed(-1.0)), 1.0).starts_with("scale is -1.0; it must be")
        );
        assert!(error(None, f64::NAN).starts_with("scale_factor is nan; it must be"));
    }

    #[test]
    fn scales_of_a_run_card() {
        let ren = ("fixed_ren_scale", "T");
        let fac = ("fixed_fac_scale", "T");
        for (values, densities, wanted) in [
            (&[][..], true, "dynamical_scale_choice = -1, scalefact = 1"),
            (
                &[ren],
                true,
                "scale = 91.188, dynamical_scale_choice = -1, scalefact = 1",
            ),
            (&[ren], false, "scale = 91.188"),
            (
                &[ren, fac],
                true,
                "scale = 91.188, dsqrt_q2fact1 = 91.188, dsqrt_q2fact2 = 91.188",
            ),
            (
                &[fac, ("scalefact", "0.5")],
                true,
                "dsqrt_q2fact1 = 91.188, dsqrt_q2fact2 = 91.188, dynamical_scale_choice = -1, scalefact = 0.5",
            ),
        ] {
            assert_eq!(by_run_card(&card(values), densities), wanted);
        }
        use mebridge_phasespace::scales::Dynamical;
        let scale = |values: &[(&str, &str)], alone| scale::from_run_card(&card(values), alone);
        assert_eq!(scale(&[], false).dynamical, Dynamical::HalfTransverseMass);
        assert_eq!(scale(&[], true).dynamical, Dynamical::TransverseMass);
        let et = [
            ("dynamical_scale_choice", "1"),
            ("scalefact", "2"),
            fac,
            ren,
            ("scale", "7"),
        ];
        let found = scale(&et, true);
        assert_eq!(
            (found.dynamical, found.factor),
            (Dynamical::TransverseEnergy, 2.0)
        );
        assert_eq!(
            (found.renormalisation, found.factorisation),
            (Some(7.0), [Some(91.188); 2])
        );
        assert_eq!(
            scale(&[("fixed_fac_scale1", "T")], true).factorisation,
            [Some(91.188), None]
        );
    }

    #[test]
    fn scales_by_clustering() {
        use crate::beams::Beams;
        let by_clustering = |values: &[(&str, &str)]| {
            let card = card(values);
            Beams::from_run_card(&card, &["nn23lo1"], None)
                .unwrap()
                .cluster_scales(&card)
        };
        let fixed = [("fixed_ren_scale", "T"), ("fixed_fac_scale", "T")];
        assert!(by_clustering(&[]) && by_clustering(&fixed[..1]) && !by_clustering(&fixed));
        assert!(!by_clustering(&[("dynamical_scale_choice", "3")]));
        assert!(!by_clustering(&[fixed[0], ("lpp1", "0"), ("lpp2", "0")]));
    }

    #[test]
    fn cuts_of_windows_and_rules() {
        let windows = ["ptj = 20", "etaj = 5", "ptj = 20"];
        assert_eq!(
            cuts_of_run_card(windows, &card(&[])),
            ["ptj = 20", "etaj = 5"]
        );
        let isolated = [
            ("ptgmin", "10"),
            ("xqcut", "30"),
            ("ickkw", "1"),
            ("isoem", "F"),
            ("deltaeta", "1.25"),
        ];
        assert_eq!(
            cuts_of_run_card([], &card(&isolated)),
            [
                "deltaeta = 1.25",
                "ptgmin = 10",
                "r0gamma = 0.4",
                "xn = 1",
                "epsgamma = 1",
                "isoem = False",
                "ickkw = 1",
                "xqcut = 30",
            ]
        );
    }
}
