//! Parameter cards (SLHA): the parts that a run needs besides its matrix elements.

use crate::text::{self, repr};
use mebridge::Result;
use mebridge::model::CardEntry;
use mebridge::model::dependent::{DependentValue, DependentValues, QuantumNumbers};
use mebridge::process::card::Card;
use mebridge_support::sorted::SortedMap;
use std::f64::consts::{PI, SQRT_2};
use std::fmt::Write;
use std::path::Path;

/// The word for a width that is to be computed.
const AUTO: &str = "auto";

/// What MG5aMC writes above masses and widths that it does not read.
const DEPENDENT: &str = "## Dependent parameters, given by model restrictions.\n";

/// The numbers of a card.
#[derive(Clone, Debug, Default)]
pub struct ParamCard(Card);

impl ParamCard {
    /// Reads a card.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(file: &Path) -> Result<ParamCard> {
        let text = text::read(file, "the parameter card")?;
        Ok(ParamCard(Card::parse(&text, file)))
    }

    /// The number of a block and code, or `default` if the card has none.
    pub fn value(&self, block: &str, code: i32, default: f64) -> f64 {
        let block = block.to_ascii_lowercase();
        self.0.number(&block, &[code]).unwrap_or(default)
    }

    /// alpha at the mass of the Z boson, as MG5aMC writes it to event files: from 1 / alpha, or from Fermi's constant
    /// and the masses of W and Z; 0 if the card has neither.
    pub fn alpha_qed(&self) -> f64 {
        let inverse = self.value("sminputs", 1, 0.0);
        if inverse != 0.0 {
            return 1.0 / inverse.abs();
        }
        let fermi = self.value("sminputs", 2, 0.0);
        let (w, z) = (self.value("mass", 24, 0.0), self.value("mass", 23, 0.0));
        match z == 0.0 {
            true => 0.0,
            false => SQRT_2 / PI * fermi * (w * w) * (1.0 - w * w / (z * z)),
        }
    }
}

/// Codes of particles whose width the card leaves to be computed (`DECAY 6 Auto`).
pub fn open_widths(text: &str) -> Vec<&str> {
    let open = |line| {
        let mut words = without_comment(line).split_whitespace();
        let is_decay = words.next()?.eq_ignore_ascii_case("decay");
        let (code, width) = (words.next()?, words.next()?);
        (is_decay && begins_with_auto(width)).then_some(code)
    };
    text.lines().filter_map(open).collect()
}

/// Widths that the card gives as numbers, GeV, by PDG code.
pub fn widths(text: &str) -> SortedMap<i32, f64> {
    let width = |line| {
        let mut words = without_comment(line).split_whitespace();
        let is_decay = words.next()?.eq_ignore_ascii_case("decay");
        let code = words.next()?.parse().ok()?;
        // Fortran exponents are allowed, too.
        let width = words.next()?.replace(['d', 'D'], "e").parse().ok()?;
        is_decay.then_some((code, width))
    };
    text.lines().filter_map(width).collect()
}

/// The card with the `Auto` widths replaced by numbers, GeV, by the codes of the particles.
pub fn with_widths(text: &str, widths: &SortedMap<String, f64>) -> String {
    let mut found = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match width_in(line, widths) {
            Some((at, width)) => {
                found.push_str(&line[..at]);
                found.push_str(&text::scientific(width, 6));
                found.push_str(&line[at + AUTO.len()..]);
            }
            None => found.push_str(line),
        }
    }
    found
}

/// The position of `Auto` in a line for a particle with a known width, and the width.
fn width_in(line: &str, widths: &SortedMap<String, f64>) -> Option<(usize, f64)> {
    let mut words = without_comment(line).split_whitespace();
    let is_decay = words.next()?.eq_ignore_ascii_case("decay");
    let width = *widths.get(words.next()?)?;
    let word = words.next()?;
    let at = word.as_ptr() as usize - line.as_ptr() as usize;
    (is_decay && word.eq_ignore_ascii_case(AUTO)).then_some((at, width))
}

fn begins_with_auto(word: &str) -> bool {
    word.get(..AUTO.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(AUTO))
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or(line)
}

/// The text of a parameter card (SLHA) with these values; `scales` are the scales, GeV, of blocks with running
/// parameters.
pub fn text(entries: &[CardEntry], scales: &SortedMap<&str, f64>) -> String {
    let mut blocks: Vec<(&str, String)> = Vec::new();
    for entry in entries {
        let index: Vec<String> = entry.index.iter().map(i32::to_string).collect();
        let line = format!(
            "{} {} # {}\n",
            index.join(" "),
            repr(entry.value),
            entry.name
        );
        let known = blocks
            .iter()
            .position(|(name, _)| name.eq_ignore_ascii_case(&entry.block));
        let at = known.unwrap_or_else(|| {
            blocks.push((&entry.block, String::new()));
            blocks.len() - 1
        });
        let start = if entry.block.eq_ignore_ascii_case("decay") {
            "DECAY "
        } else {
            "  "
        };
        blocks[at].1 += &format!("{start}{line}");
    }
    let is_decay = |(name, _): &&(&str, String)| name.eq_ignore_ascii_case("decay");
    let mut text = String::new();
    for (name, lines) in blocks.iter().filter(|block| !is_decay(block)) {
        let scale = scales.get(&*name.to_lowercase());
        let scale = scale.map_or_else(String::new, |scale| format!(" Q= {}", repr(*scale)));
        let _ = write!(text, "Block {}{scale}\n{lines}", name.to_uppercase());
    }
    text.extend(
        blocks
            .iter()
            .filter(is_decay)
            .map(|(_, lines)| lines.as_str()),
    );
    text
}

/// The card with the masses and widths of all particles, and the quantum numbers of those outside of the Standard Model,
/// as MG5aMC has them in its files: MadSpin and Pythia need them. A number that differs from the model's is replaced.
pub fn completed(text: &str, model: &DependentValues) -> String {
    let card = Card::parse(text, Path::new(""));
    let six = |value: f64| text::scientific(value, 6);
    let (mut wrong, mut absent) = (SortedMap::new(), Vec::new());
    for of in model.of(&card) {
        match card.number(of.block, &[of.pdg]) {
            None => absent.push(of),
            Some(number) if six(number) != six(of.value) => {
                wrong.insert((of.block, of.pdg), six(of.value));
            }
            Some(_) => {}
        }
    }
    let lines = |block: &str, begin: &str| {
        let of_block: Vec<&DependentValue> = absent.iter().filter(|of| of.block == block).collect();
        let line = |of: &&DependentValue| {
            let DependentValue { pdg, comment, .. } = of;
            format!("{begin}{pdg} {} # {comment}\n", six(of.value))
        };
        let head = if of_block.is_empty() { "" } else { DEPENDENT };
        head.to_owned() + &of_block.iter().map(line).collect::<String>()
    };
    let masses = lines("mass", "  ");
    // After the last entry of the block.
    let (mut found, mut block, mut end) = (String::with_capacity(text.len()), None, None);
    for line in text.split_inclusive('\n') {
        let words: Vec<&str> = without_comment(line).split_whitespace().collect();
        let is = |word: &str| words[0].eq_ignore_ascii_case(word);
        let entry = match words[..] {
            [_, ref name @ ..] if is("block") => {
                block = name.first().map(|name| name.to_ascii_lowercase());
                None
            }
            [_, code, ref number @ ..] if is("decay") => {
                block = None;
                Some(("decay", code)).zip(number.first())
            }
            [code, ref number, ..] if block.as_deref() == Some("mass") => {
                Some(("mass", code)).zip(Some(number))
            }
            _ => None,
        };
        let replaced = entry.and_then(|((block, code), word)| {
            let number = wrong.get(&(block, code.parse().ok()?))?;
            let at = word.as_ptr() as usize - line.as_ptr() as usize;
            Some([&line[..at], number, &line[at + word.len()..]])
        });
        match replaced {
            None => found.push_str(line),
            Some(parts) => found.extend(parts),
        }
        if !found.ends_with('\n') {
            found.push('\n');
        }
        if block.as_deref() == Some("mass") && !words.is_empty() {
            end = Some(found.len());
        }
    }
    match end {
        Some(end) => found.insert_str(end, &masses),
        None if masses.is_empty() => {}
        None => found += &format!("Block MASS\n{masses}"),
    }
    found += &lines("decay", "DECAY ");
    for of in &model.quantum_numbers {
        let name = format!("qnumbers {}", of.pdg);
        if !has_block(text, &name) {
            found += &quantum_numbers(of);
        }
    }
    found
}

/// Whether a card has a block with this name, of one or more words in lower case.
fn has_block(text: &str, name: &str) -> bool {
    let of = |line| {
        let mut words = without_comment(line).split_whitespace();
        let begins = words
            .next()
            .is_some_and(|word| word.eq_ignore_ascii_case("block"));
        begins
            && words
                .map(str::to_ascii_lowercase)
                .collect::<Vec<_>>()
                .join(" ")
                == name
    };
    text.lines().any(of)
}

/// As MG5aMC writes them.
fn quantum_numbers(of: &QuantumNumbers) -> String {
    let QuantumNumbers {
        pdg,
        name,
        charge,
        spin,
        color,
        own_anti,
    } = of;
    format!(
        "Block QNUMBERS {pdg}  # {name}\n        1 {charge}  # 3 times electric charge\n        2 {spin}  # number of \
         spin states (2S+1)\n        3 {color}  # colour rep (1: singlet, 3: triplet, 8: octet)\n        4 {}  # \
         Particle/Antiparticle distinction (0=own anti)\n",
        u8::from(!own_anti)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(text: &str) -> ParamCard {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("param_card.dat");
        std::fs::write(&file, text).unwrap();
        ParamCard::read(&file).unwrap()
    }

    #[test]
    fn numbers_by_block_and_code() {
        let found = card(
            "Block SMINPUTS # a block\r\n 3 1.18D-01 # aS\r\nDECAY 6 1.5\r\n 6 7\r\nblock mass\r 6 173\r",
        );
        assert_eq!(found.value("SMINPUTS", 3, 0.0), 0.118);
        assert_eq!(found.value("mass", 6, 0.0), 173.0);
        assert_eq!(found.value("mass", 5, 4.7), 4.7);
        let error = ParamCard::read("/dev/null".as_ref()).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("the parameter card /dev/null cannot be read: ")
        );
    }

    #[test]
    fn widths_are_numbers_of_decays() {
        let text = "DECAY 6 1.5D+00 # t\n 0.5 2 5 24\ndecay 23 2.495\nDECAY 25 Auto\nBlock DECAY\n 24 2.0\n";
        assert_eq!(widths(text), SortedMap::from([(6, 1.5), (23, 2.495)]));
    }

    #[test]
    fn alpha_is_that_of_the_card() {
        assert_eq!(
            card("Block SMINPUTS\n 1 128.0 # aEWM1\n").alpha_qed(),
            1.0 / 128.0
        );
        assert_eq!(card("Block SMINPUTS\n 1 -128.0\n").alpha_qed(), 1.0 / 128.0);
        let masses = "Block SMINPUTS\n 2 1.16637e-5 # Gf\nBlock MASS\n 23 91.1876\n 24 80.387\n";
        assert_eq!(card(masses).alpha_qed(), 0.007_561_403_515_071_756);
        assert_eq!(card("").alpha_qed(), 0.0);
    }

    #[test]
    fn widths_that_are_left_open() {
        let text = "DECAY 6 1.5 # Auto\ndecay 25 auto # h\n DECAY  36\tAuto# a\nDECAY 23 Auto@NLO\nDECAY 24\nBlock MASS\n 6 Auto\n";
        assert_eq!(open_widths(text), ["25", "36", "23"]);
        let widths = SortedMap::from([
            ("36".to_owned(), 0.25),
            ("23".to_owned(), 2.0),
            ("24".to_owned(), 2.0),
        ]);
        let wanted = text.replace("36\tAuto", "36\t2.500000e-01");
        assert_eq!(with_widths(text, &widths), wanted);
        assert_eq!(
            with_widths("decay 36 AUTO", &widths),
            "decay 36 2.500000e-01"
        );
    }
}
