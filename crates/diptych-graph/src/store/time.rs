//! Points in time, to the millisecond.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Milliseconds since the Unix epoch. On the wire: ISO 8601 in UTC with milliseconds; read back, also a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// Years -9999 to 9999, with a day to spare for jiff's own bounds.
const RANGE: std::ops::RangeInclusive<i64> = -377_705_023_200_000..=253_402_207_199_000;

impl Timestamp {
    /// A time from milliseconds since the epoch; what cannot be written as a date is brought to the nearest that can.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(*RANGE.start(), *RANGE.end()))
    }

    /// Milliseconds since the epoch.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// What the wall clock says.
    pub fn wall_clock() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = jiff::Timestamp::from_millisecond(self.0).unwrap_or_default();
        write!(formatter, "{time:.3}")
    }
}

/// The text is not a time.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("expected milliseconds since 1970 or an ISO 8601 time such as 2026-01-31T12:00:00.000Z")]
pub struct NotATime;

impl FromStr for Timestamp {
    type Err = NotATime;

    /// Reads ISO 8601 with an offset, a bare date (midnight, UTC), a time without an offset (UTC), or milliseconds.
    fn from_str(text: &str) -> Result<Self, NotATime> {
        let text = text.trim();
        if let Ok(millis) = text.parse::<i64>() {
            return Ok(Self::from_millis(millis));
        }
        if let Ok(time) = text.parse::<jiff::Timestamp>() {
            return Ok(Self::from_millis(time.as_millisecond()));
        }
        let civil: jiff::civil::DateTime = text.parse().map_err(|_| NotATime)?;
        let zoned = civil.to_zoned(jiff::tz::TimeZone::UTC).map_err(|_| NotATime)?;
        Ok(Self::from_millis(zoned.timestamp().as_millisecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Millis(i64),
            Text(String),
        }
        match Either::deserialize(deserializer)? {
            Either::Millis(millis) => Ok(Self::from_millis(millis)),
            Either::Text(text) => text.parse().map_err(de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_with_milliseconds_and_read_back() {
        let time = Timestamp::from_millis(1_700_000_000_007);
        assert_eq!(time.to_string(), "2023-11-14T22:13:20.007Z");
        assert_eq!(time.to_string().parse::<Timestamp>().unwrap(), time);
        assert_eq!(Timestamp::from_millis(1_700_000_000_000).to_string(), "2023-11-14T22:13:20.000Z");
    }

    #[test]
    fn times_are_read_in_every_form_that_clients_send() {
        for text in
            ["2023-11-14T22:13:20Z", "2023-11-14T23:13:20+01:00", "2023-11-14T22:13:20", "1700000000000"]
        {
            assert_eq!(text.parse::<Timestamp>().unwrap().as_millis(), 1_700_000_000_000, "{text}");
        }
        assert_eq!("2023-11-14".parse::<Timestamp>().unwrap().to_string(), "2023-11-14T00:00:00.000Z");
        assert!("yesterday".parse::<Timestamp>().is_err());
    }

    #[test]
    fn a_time_beyond_all_dates_can_still_be_written() {
        for millis in [i64::MIN, i64::MAX] {
            let text = Timestamp::from_millis(millis).to_string();
            assert!(text.ends_with('Z') && text.parse::<Timestamp>().is_ok(), "{text}");
        }
    }
}
