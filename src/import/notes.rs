//! Log lines about values that are stored in another form than they were written.

/// Lines that are kept; of others only the number.
const MOST: usize = 100;

/// Lines for the log.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    lines: Vec<String>,
    further: usize,
}

impl Notes {
    /// Adds a line.
    pub(crate) fn add(&mut self, line: String) {
        if self.lines.len() < MOST {
            self.lines.push(line);
        } else {
            self.further += 1;
        }
    }

    /// The first line; empty if there is none.
    pub(crate) fn first(&self) -> &str {
        self.lines.first().map(String::as_str).unwrap_or_default()
    }

    /// The lines; the last says how many more there were.
    pub(crate) fn into_lines(mut self) -> Vec<String> {
        if self.further > 0 {
            let further = format!("and {} more of that kind", self.further);
            self.lines.push(further);
        }
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_lines_the_number_is_kept() {
        let mut notes = Notes::default();
        assert_eq!(
            (notes.first(), Notes::default().into_lines().len()),
            ("", 0)
        );
        (0..MOST + 2).for_each(|number| notes.add(number.to_string()));
        assert_eq!(notes.first(), "0");
        let lines = notes.into_lines();
        assert_eq!(lines.len(), MOST + 1);
        assert_eq!(lines.last().unwrap(), "and 2 more of that kind");
    }
}
