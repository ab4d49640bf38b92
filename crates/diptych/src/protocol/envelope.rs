//! What kind of message it is: the members that tell, read in one pass, for every transport.

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ClientResult,
    JsonRpcMessage, RequestId, RequestMetaObject,
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The members that tell one kind of message from another. Everything else is skipped, which is quick.
#[derive(Deserialize)]
pub(crate) struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// What the straight way looks at. Everything else is for rmcp.
#[derive(Debug)]
pub(crate) enum Kind {
    Call(Box<Called>),
    /// The client withdraws a request.
    Withdrawn(RequestId),
    /// The client answers a request; without a result it refused.
    Reply(RequestId, Option<Box<ClientResult>>),
    Other,
}

/// A `tools/call`.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) id: RequestId,
    pub(crate) params: CallToolRequestParams,
    pub(crate) meta: RequestMetaObject,
}

impl Called {
    /// The same call as rmcp takes it.
    pub(crate) fn into_message(self) -> ClientJsonRpcMessage {
        let mut request = CallToolRequest::new(self.params);
        if !self.meta.is_empty() {
            request.extensions.insert(self.meta);
        }
        JsonRpcMessage::request(ClientRequest::CallToolRequest(request), self.id)
    }
}

impl<'a> Envelope<'a> {
    /// # Errors
    /// When the bytes are not JSON, or are not an object with such members (`is_data`).
    pub(crate) fn read(bytes: &'a [u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes)
    }

    /// The id, whoever gave it.
    pub(crate) fn id(&self) -> Option<RequestId> {
        serde_json::from_str(self.id?.get()).ok()
    }

    /// The method as it stands there, quotes included: those that we look for need no escapes.
    pub(crate) fn method(&self) -> Option<&'a str> {
        self.method.map(RawValue::get)
    }

    /// Whether it has what every message has.
    pub(crate) fn is_message(&self) -> bool {
        self.jsonrpc.is_some_and(|version| version.get() == "\"2.0\"")
            && match self.method() {
                Some(method) => method.starts_with('"'),
                None => self.result.is_some() || self.error.is_some(),
            }
    }

    /// What it is to the straight way. By method, and typed: rmcp's union of all requests costs several times
    /// as much for the one that matters.
    pub(crate) fn kind(&self) -> Kind {
        if !self.is_message() {
            return Kind::Other;
        }
        self.known().unwrap_or(Kind::Other)
    }

    fn known(&self) -> Option<Kind> {
        Some(match self.method() {
            Some("\"tools/call\"") => {
                let mut params: CallToolRequestParams = serde_json::from_str(self.params?.get()).ok()?;
                let meta = params.meta.take().unwrap_or_default();
                Kind::Call(Box::new(Called { id: self.id()?, params, meta }))
            }
            Some("\"notifications/cancelled\"") => {
                #[derive(Deserialize)]
                #[serde(rename_all = "camelCase")]
                struct Withdrawn {
                    request_id: RequestId,
                }
                let withdrawn: Withdrawn = serde_json::from_str(self.params?.get()).ok()?;
                Kind::Withdrawn(withdrawn.request_id)
            }
            Some(_) => return None,
            None => {
                let result = self.result.and_then(|result| serde_json::from_str(result.get()).ok());
                Kind::Reply(self.id()?, result.map(Box::new))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_call_is_read_as_rmcp_reads_it(name in "[a-z]{1,8}", text in ".{0,20}", id in any::<u32>(), token in prop::option::of("[a-z]{1,5}")) {
            let mut message = serde_json::json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": {"text": text}}});
            if let Some(token) = token {
                message["params"]["_meta"] = serde_json::json!({"progressToken": token});
            }
            let line = message.to_string();
            let Kind::Call(ours) = Envelope::read(line.as_bytes()).unwrap().kind() else {
                return Err(TestCaseError::fail("not read as a call"));
            };
            let theirs: ClientJsonRpcMessage = serde_json::from_str(&line).unwrap();
            prop_assert_eq!(serde_json::to_value(ours.into_message()).unwrap(), serde_json::to_value(&theirs).unwrap());
        }
    }
}
