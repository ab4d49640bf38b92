//! Tables: every row has as many cells as there are headers, whatever the cells contain.

use super::Line;

/// A table being drawn.
#[derive(Debug)]
pub struct Table {
    row: Row,
    columns: usize,
}

/// A row of a table being drawn. Cells that are missing are left empty; more cells than headers are not drawn.
#[derive(Debug)]
pub struct Row {
    pen: Line,
    left: usize,
}

impl Table {
    pub(super) fn open(pen: Line, headers: &[&'static str]) -> Self {
        let mut table = Self { row: Row { pen, left: 0 }, columns: headers.len() };
        table.row.pen.cell = true;
        table.draw_row(|row| {
            for header in headers {
                row.cell(|line| {
                    line.literal(header);
                });
            }
        });
        table.row.pen.out.push_str("\n|");
        for _ in headers {
            table.row.pen.out.push_str(" :--- |");
        }
        table
    }

    pub(super) fn close(mut self) -> Line {
        self.row.pen.cell = false;
        self.row.pen
    }

    /// A row.
    pub fn row(&mut self, f: impl FnOnce(&mut Row)) -> &mut Self {
        self.row.pen.out.push('\n');
        self.draw_row(f);
        self
    }

    fn draw_row(&mut self, f: impl FnOnce(&mut Row)) {
        self.row.left = self.columns;
        self.row.pen.out.push('|');
        f(&mut self.row);
        for _ in 0..self.row.left {
            self.row.pen.out.push_str("  |");
        }
    }
}

impl Row {
    /// A cell made of pieces.
    pub fn cell(&mut self, f: impl FnOnce(&mut Line)) -> &mut Self {
        if self.left == 0 {
            return self;
        }
        self.left -= 1;
        self.pen.out.push(' ');
        self.pen.begin();
        f(&mut self.pen);
        self.pen.trim_start();
        self.pen.end_inline();
        self.pen.out.push_str(" |");
        self
    }

    /// A cell of dynamic text.
    pub fn text(&mut self, text: impl std::fmt::Display) -> &mut Self {
        self.cell(|line| {
            line.text(text);
        })
    }
}
