//! Operators that a model of the database knows too.

/// The operator of a keyspace. The model knows what each does to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Adds numbers of eight bytes.
    Add,
    /// Keeps the greatest bytes.
    Max,
    /// Keeps the least bytes.
    Min,
    /// Appends behind a comma.
    Append,
    /// Keeps the newest bytes.
    Put,
}

impl Operator {
    /// All of them.
    pub const ALL: [Operator; 5] =
        [Operator::Add, Operator::Max, Operator::Min, Operator::Append, Operator::Put];

    /// Those whose operands and values are any bytes.
    pub const OF_BYTES: [Operator; 4] =
        [Operator::Max, Operator::Min, Operator::Append, Operator::Put];

    /// Its name in the engine.
    pub fn name(self) -> &'static str {
        match self {
            Operator::Add => "uint64add",
            Operator::Max => "max",
            Operator::Min => "min",
            Operator::Append => "stringappend:,",
            Operator::Put => "put",
        }
    }

    /// What it makes of a value and an operand, in a few words of its own.
    pub fn merge(self, mut value: Vec<u8>, operand: &[u8]) -> Vec<u8> {
        let number = |bytes: &[u8]| {
            let mut word = [0; 8];
            word.copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        match self {
            Operator::Add => (number(&value) + number(operand)).to_le_bytes().to_vec(),
            Operator::Max => value.max(operand.to_vec()),
            Operator::Min => value.min(operand.to_vec()),
            Operator::Put => operand.to_vec(),
            Operator::Append => {
                value.push(b',');
                value.extend_from_slice(operand);
                value
            }
        }
    }
}
