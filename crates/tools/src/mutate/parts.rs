//! Splits a file into program units, so that after a change only one of them has to be compiled.

use mebridge_oracle::statements;

/// Returns the text of each program unit; `None` if there is only one, or if units depend on each other (modules).
pub fn parts(text: &str) -> Option<Vec<String>> {
    let statements = statements::read(text);
    let apart = ["MODULE", "CONTAINS", "INTERFACE", "BLOCKDATA"];
    if statements
        .iter()
        .any(|s| apart.iter().any(|word| s.text.starts_with(word)))
    {
        return None;
    }
    let ends: Vec<usize> = statements
        .iter()
        .filter(|s| ends_unit(&s.text))
        .map(|s| s.lines.end)
        .collect();
    if ends.len() < 2 || ends.last() != statements.last().map(|s| &s.lines.end) {
        return None;
    }
    let lines: Vec<&str> = text.lines().collect();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let part = |(start, end): (usize, &usize)| lines[start..*end].join("\n") + "\n";
    Some(starts.zip(&ends).map(part).collect())
}

/// Returns the part that differs in a text with the same number of parts; `None` unless exactly one differs.
pub fn changed(before: &[String], after: &str) -> Option<(usize, String)> {
    let after = parts(after)?;
    if after.len() != before.len() {
        return None;
    }
    let mut others = (0..before.len()).filter(|&i| before[i] != after[i]);
    match (others.next(), others.next()) {
        (Some(one), None) => Some((one, after[one].clone())),
        _ => None,
    }
}

fn ends_unit(statement: &str) -> bool {
    let text = statement.trim_start_matches(|c: char| c.is_ascii_digit());
    let named = ["ENDSUBROUTINE", "ENDFUNCTION", "ENDPROGRAM"];
    text == "END"
        || named.iter().any(|word| text.starts_with(word)) && !text.contains(['=', '(', ','])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "C     A comment\n      SUBROUTINE A\n      IF(X)THEN\n      ENDIF\n      END\n\
                       C     Of the second\n      FUNCTION B(X)\n      B=1\n      END FUNCTION B\n";

    #[test]
    fn units_are_taken_apart() {
        let parts = parts(TWO).unwrap();
        assert_eq!(parts.len(), 2);
        assert_eq!(parts.concat(), TWO);
        assert!(parts[1].starts_with("C     Of the second"));
    }

    #[test]
    fn one_changed_unit_is_found_and_no_other_change() {
        let before = parts(TWO).unwrap();
        let (at, text) = changed(&before, &TWO.replace("B=1", "B=2")).unwrap();
        assert_eq!((at, text.contains("B=2")), (1, true));
        // A deleted statement changes one unit; without an END there is one unit less.
        assert!(changed(&before, &TWO.replace("      B=1\n", "")).is_some());
        assert!(changed(&before, &TWO.replacen("      END\n", "", 1)).is_none());
        let both = TWO.replace("B=1", "B=2").replace("IF(X)", "IF(Y)");
        assert!(changed(&before, &both).is_none());
    }

    #[test]
    fn a_module_is_not_taken_apart() {
        assert!(
            parts("      MODULE A\n      END MODULE A\n      SUBROUTINE B\n      END\n").is_none()
        );
        assert!(parts("      SUBROUTINE B\n      END\n").is_none());
    }
}
