//! Forgiving misspellings: which known words are a slip or two away from one that nobody knows.
//!
//! The distance is Damerau and Levenshtein's with adjacent transpositions as one slip, bounded by the
//! length of the word. The vocabulary is scanned, not indexed: grouped by length and filtered by the set
//! of letters, a hundred thousand words cost well under a millisecond, and only unknown words pay it.

/// How many slips a word of this many letters is forgiven.
pub fn allowed_slips(letters: usize) -> usize {
    match letters {
        0..=3 => 0,
        4..=5 => 1,
        6..=11 => 2,
        _ => 3,
    }
}

/// The number of slips (an insertion, a deletion, a substitution, two neighbours swapped) between two
/// words, when it is not more than `bound`.
///
/// Written by hand because `strsim` always fills the whole table; here a row without a way to stay in
/// bounds ends the comparison, which is what makes scanning a vocabulary cheap.
pub fn slips(left: &[char], right: &[char], bound: usize) -> Option<usize> {
    Rows::default().slips(left, right, bound)
}

/// The three rows of the table that are needed at a time, kept between comparisons.
#[derive(Default)]
struct Rows {
    before: Vec<usize>,
    previous: Vec<usize>,
    current: Vec<usize>,
}

impl Rows {
    fn slips(&mut self, left: &[char], right: &[char], bound: usize) -> Option<usize> {
        if left.len().abs_diff(right.len()) > bound {
            return None;
        }
        let width = right.len() + 1;
        self.previous.clear();
        self.previous.extend(0..width);
        self.before.clear();
        self.before.resize(width, 0);
        self.current.clear();
        self.current.resize(width, 0);
        for row in 1..=left.len() {
            let (before, previous, current) = (&self.before, &self.previous, &mut self.current);
            current[0] = row;
            // What lies further from the diagonal than the bound is out of bounds whatever it costs.
            let (from, to) = (row.saturating_sub(bound).max(1), (row + bound).min(width - 1));
            if from > 1 {
                current[from - 1] = bound + 1;
            }
            let mut least = bound + 1;
            for column in from..=to {
                let same = left[row - 1] == right[column - 1];
                let mut cost = (previous[column - 1] + usize::from(!same)).min(current[column - 1] + 1);
                if column < row + bound {
                    cost = cost.min(previous[column] + 1);
                }
                if row > 1
                    && column > 1
                    && left[row - 1] == right[column - 2]
                    && left[row - 2] == right[column - 1]
                {
                    cost = cost.min(before[column - 2] + 1);
                }
                current[column] = cost;
                least = least.min(cost);
            }
            if least.min(current[0]) > bound {
                return None;
            }
            std::mem::swap(&mut self.before, &mut self.previous);
            std::mem::swap(&mut self.previous, &mut self.current);
        }
        Some(self.previous[width - 1]).filter(|distance| *distance <= bound)
    }
}

/// A vocabulary that can be asked for the words nearest to a misspelt one.
#[derive(Debug, Default, Clone)]
pub struct Spelling {
    by_length: Vec<Shelf>,
}

/// The words of one length, their letters one after another.
#[derive(Debug, Default, Clone)]
struct Shelf {
    letters: Vec<char>,
    masks: Vec<u64>,
    /// How common each word is: the more common of two equally near words comes first.
    counts: Vec<u32>,
}

/// A known word near a misspelt one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// The known word.
    pub word: String,
    /// How many slips away it is.
    pub slips: usize,
    /// How common it is.
    pub count: u32,
}

impl Spelling {
    /// Makes a known word of `word`, `count` being how common it is.
    pub fn add(&mut self, word: &str, count: u32) {
        let length = word.chars().count();
        if self.by_length.len() <= length {
            self.by_length.resize_with(length + 1, Shelf::default);
        }
        let shelf = &mut self.by_length[length];
        let start = shelf.letters.len();
        shelf.letters.extend(word.chars());
        shelf.masks.push(mask(&shelf.letters[start..]));
        shelf.counts.push(count);
    }

    /// The known words nearest to `word`: those with the fewest slips, the most common first, at most
    /// `limit`. The first letter is seldom mistyped, so words that share it are nearer than others.
    pub fn nearest(&self, word: &str, limit: usize) -> Vec<Near> {
        self.scan(word, limit, 0)
    }

    /// The same for a word that is known: the known words nearest to it, other than itself.
    pub fn nearest_other(&self, word: &str, limit: usize) -> Vec<Near> {
        self.scan(word, limit, 1)
    }

    fn scan(&self, word: &str, limit: usize, least: usize) -> Vec<Near> {
        let letters: Vec<char> = word.chars().collect();
        let mut bound = allowed_slips(letters.len());
        if bound == 0 {
            return Vec::new();
        }
        let mask = mask(&letters);
        let mut rows = Rows::default();
        let mut found: Vec<(usize, bool, u32, &[char])> = Vec::new();
        let lengths = letters.len().saturating_sub(bound).max(1)..=letters.len() + bound;
        for length in lengths {
            let Some(shelf) = self.by_length.get(length) else { break };
            for (index, other) in shelf.masks.iter().enumerate() {
                if (other ^ mask).count_ones() as usize > 2 * bound {
                    continue;
                }
                let known = &shelf.letters[index * length..(index + 1) * length];
                let Some(distance) = rows.slips(&letters, known, bound) else { continue };
                let other_start = known[0] != letters[0];
                // Two slips, one of them in the first letter, make another word of a short one.
                if distance < least || (other_start && distance > 1 && letters.len() < 9) {
                    continue;
                }
                bound = bound.min(distance.max(1));
                found.push((distance, other_start, shelf.counts[index], known));
            }
        }
        let Some(nearest) = found.iter().map(|(distance, ..)| *distance).min() else { return Vec::new() };
        found.retain(|(distance, ..)| *distance == nearest);
        found.sort_by(|a, b| (a.1, b.2, a.3).cmp(&(b.1, a.2, b.3)));
        found.truncate(limit);
        found
            .into_iter()
            .map(|(slips, _, count, known)| Near { word: known.iter().collect(), slips, count })
            .collect()
    }
}

/// The set of letters of a word: one slip changes at most two of its bits.
fn mask(letters: &[char]) -> u64 {
    letters.iter().fold(0, |mask, letter| {
        let bit = match letter {
            'a'..='z' => *letter as u32 - 'a' as u32,
            '0'..='9' => 26 + (*letter as u32 - '0' as u32),
            _ => 36 + (*letter as u32 % 28),
        };
        mask | 1 << bit
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(left: &str, right: &str) -> Option<usize> {
        slips(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>(), 3)
    }

    #[test]
    fn slips_are_counted() {
        assert_eq!(between("retry", "retry"), Some(0));
        assert_eq!(between("retyr", "retry"), Some(1));
        assert_eq!(between("efect", "effect"), Some(1));
        assert_eq!(between("shcedule", "schedule"), Some(1));
        assert_eq!(between("conncurency", "concurrency"), Some(2));
        assert_eq!(between("", "abc"), Some(3));
        assert_eq!(between("retry", "stream"), None);
    }

    #[test]
    fn the_nearest_and_most_common_come_first() {
        let mut spelling = Spelling::default();
        for (word, count) in [("retry", 9), ("entry", 3), ("schema", 5), ("scheme", 1), ("service", 4)] {
            spelling.add(word, count);
        }
        let words = |word| spelling.nearest(word, 3).into_iter().map(|near| near.word).collect::<Vec<_>>();
        assert_eq!(words("retyr"), ["retry"]);
        assert_eq!(words("schemq"), ["schema", "scheme"]);
        assert_eq!(words("servise"), ["service"]);
        assert!(words("abc").is_empty());
        assert!(words("kubernetes").is_empty());
    }

    proptest::proptest! {
        #[test]
        fn slips_agree_with_the_full_table(left in "[a-d]{0,8}", right in "[a-d]{0,8}", bound in 0_usize..5) {
            let letters = |word: &str| word.chars().collect::<Vec<_>>();
            let full = strsim::osa_distance(&left, &right);
            proptest::prop_assert_eq!(
                slips(&letters(&left), &letters(&right), bound),
                Some(full).filter(|distance| *distance <= bound)
            );
        }
    }
}
