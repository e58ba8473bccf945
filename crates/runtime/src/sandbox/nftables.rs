//! The part of the nftables protocol (`linux/netfilter/nf_tables.h`) that the rules for workers
//! need.

use std::io;

use nix::libc;

const ALIGN: usize = 4;
const HEADER: usize = 16;
const NESTED: u16 = 0x8000;
/// A table that the kernel removes with the socket that created it.
pub(super) const OWNED: u32 = 2;
/// Register 1, of 16 bytes.
const REGISTER: u32 = 1;

/// Numbers of attributes, `NFTA_…` in the kernel's header.
#[rustfmt::skip]
mod attribute {
    pub const TABLE_NAME: u16 = 1; pub const TABLE_FLAGS: u16 = 2;
    pub const HOOK_HOOKNUM: u16 = 1; pub const HOOK_PRIORITY: u16 = 2;
    pub const CHAIN_TABLE: u16 = 1; pub const CHAIN_NAME: u16 = 3; pub const CHAIN_HOOK: u16 = 4; pub const CHAIN_TYPE: u16 = 7;
    pub const RULE_TABLE: u16 = 1; pub const RULE_CHAIN: u16 = 2; pub const RULE_EXPRESSIONS: u16 = 4;
    pub const LIST_ELEM: u16 = 1;
    pub const EXPR_NAME: u16 = 1; pub const EXPR_DATA: u16 = 2;
    pub const DATA_VALUE: u16 = 1;
    pub const META_DREG: u16 = 1; pub const META_KEY: u16 = 2;
    pub const BYTEORDER_SREG: u16 = 1; pub const BYTEORDER_DREG: u16 = 2; pub const BYTEORDER_OP: u16 = 3; pub const BYTEORDER_LEN: u16 = 4; pub const BYTEORDER_SIZE: u16 = 5;
    pub const BITWISE_SREG: u16 = 1; pub const BITWISE_DREG: u16 = 2; pub const BITWISE_LEN: u16 = 3; pub const BITWISE_MASK: u16 = 4; pub const BITWISE_XOR: u16 = 5;
    pub const CMP_SREG: u16 = 1; pub const CMP_OP: u16 = 2; pub const CMP_DATA: u16 = 3;
    pub const PAYLOAD_DREG: u16 = 1; pub const PAYLOAD_BASE: u16 = 2; pub const PAYLOAD_OFFSET: u16 = 3; pub const PAYLOAD_LEN: u16 = 4;
    pub const REJECT_TYPE: u16 = 1; pub const REJECT_ICMP_CODE: u16 = 2;
}

/// Messages that the kernel applies together or not at all.
pub(super) struct Batch {
    bytes: Vec<u8>,
    /// The number of messages that request an acknowledgement.
    asked: usize,
}

impl Batch {
    pub(super) fn begin() -> Self {
        let mut batch = Self { bytes: Vec::new(), asked: 0 };
        batch.control(libc::NFNL_MSG_BATCH_BEGIN);
        batch
    }

    pub(super) fn end(mut self) -> (Vec<u8>, usize) {
        self.control(libc::NFNL_MSG_BATCH_END);
        (self.bytes, self.asked)
    }

    pub(super) fn table(&mut self, name: &str, flags: u32) {
        let mut body = Attributes::default();
        body.text(attribute::TABLE_NAME, name);
        body.number(attribute::TABLE_FLAGS, flags);
        self.message(libc::NFT_MSG_NEWTABLE, libc::NLM_F_CREATE, &body);
    }

    pub(super) fn delete_table(&mut self, name: &str) {
        let mut body = Attributes::default();
        body.text(attribute::TABLE_NAME, name);
        self.message(libc::NFT_MSG_DELTABLE, 0, &body);
    }

    /// A chain for packets sent by local processes.
    pub(super) fn chain(&mut self, table: &str, name: &str) {
        let mut hook = Attributes::default();
        hook.number(attribute::HOOK_HOOKNUM, libc::NF_INET_LOCAL_OUT.unsigned_abs());
        hook.number(attribute::HOOK_PRIORITY, 0);
        let mut body = Attributes::default();
        body.text(attribute::CHAIN_TABLE, table);
        body.text(attribute::CHAIN_NAME, name);
        body.nested(attribute::CHAIN_HOOK, &hook);
        body.text(attribute::CHAIN_TYPE, "filter");
        self.message(libc::NFT_MSG_NEWCHAIN, libc::NLM_F_CREATE, &body);
    }

    pub(super) fn rule(&mut self, table: &str, chain: &str, rule: Expressions) {
        let mut body = Attributes::default();
        body.text(attribute::RULE_TABLE, table);
        body.text(attribute::RULE_CHAIN, chain);
        body.nested(attribute::RULE_EXPRESSIONS, &rule.0);
        self.message(libc::NFT_MSG_NEWRULE, libc::NLM_F_CREATE | libc::NLM_F_APPEND, &body);
    }

    fn message(&mut self, kind: i32, flags: i32, body: &Attributes) {
        self.asked += 1;
        let kind = (libc::NFNL_SUBSYS_NFTABLES << 8) | kind;
        self.push(kind, flags | libc::NLM_F_ACK, libc::NFPROTO_INET, 0, &body.0);
    }

    fn control(&mut self, kind: i32) {
        self.push(kind, 0, libc::NFPROTO_UNSPEC, low(libc::NFNL_SUBSYS_NFTABLES), &[]);
    }

    fn push(&mut self, kind: i32, flags: i32, family: i32, subsystem: u16, body: &[u8]) {
        let length = HEADER + 4 + body.len();
        self.bytes.extend(u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes());
        self.bytes.extend(low(kind).to_ne_bytes());
        self.bytes.extend(low(flags | libc::NLM_F_REQUEST).to_ne_bytes());
        // Sequence number and port id: replies come in order, and the kernel fills in the sender.
        self.bytes.extend([0; 8]);
        self.bytes.extend([low(family).to_be_bytes()[1], 0]);
        self.bytes.extend(subsystem.to_be_bytes());
        self.bytes.extend(body);
    }
}

/// Returns how many messages a reply acknowledges. The first refused one is the error.
pub(super) fn answers(mut bytes: &[u8]) -> io::Result<usize> {
    let mut confirmed = 0;
    while let Some((header, rest)) = bytes.split_at_checked(HEADER) {
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let kind = u16::from_ne_bytes([header[4], header[5]]);
        if i32::from(kind) == libc::NLMSG_ERROR
            && let Some(code) = rest.first_chunk::<4>()
        {
            match i32::from_ne_bytes(*code) {
                0 => confirmed += 1,
                code => return Err(io::Error::from_raw_os_error(-code)),
            }
        }
        bytes = bytes.get(length.max(HEADER).next_multiple_of(ALIGN)..).unwrap_or_default();
    }
    Ok(confirmed)
}

/// The match conditions of a rule, and its action.
#[derive(Default)]
pub(super) struct Expressions(Attributes);

impl Expressions {
    /// Matches packets sent by processes of users in this range.
    pub(super) fn user_between(&mut self, first: u32, last: u32) {
        self.meta(libc::NFT_META_SKUID);
        let mut order = Attributes::default();
        order.number(attribute::BYTEORDER_SREG, REGISTER);
        order.number(attribute::BYTEORDER_DREG, REGISTER);
        order.number(attribute::BYTEORDER_OP, libc::NFT_BYTEORDER_HTON.unsigned_abs());
        order.number(attribute::BYTEORDER_LEN, 4);
        order.number(attribute::BYTEORDER_SIZE, 4);
        self.add("byteorder", &order);
        self.compare(libc::NFT_CMP_GTE, &first.to_be_bytes());
        self.compare(libc::NFT_CMP_LTE, &last.to_be_bytes());
    }

    /// Matches packets to an address of a protocol that has the destination at `offset`.
    pub(super) fn with_receiver(&mut self, protocol: i32, offset: u32, address: &[u8], mask: &[u8]) {
        self.address(protocol, offset, mask);
        self.compare(libc::NFT_CMP_EQ, address);
    }

    /// Loads the masked address at `offset`, of packets of this protocol.
    fn address(&mut self, protocol: i32, offset: u32, mask: &[u8]) {
        self.meta(libc::NFT_META_NFPROTO);
        self.compare(libc::NFT_CMP_EQ, &low(protocol).to_be_bytes()[1..]);
        self.load(libc::NFT_PAYLOAD_NETWORK_HEADER, offset, u32::try_from(mask.len()).unwrap_or_default());
        self.mask(mask);
    }

    fn mask(&mut self, mask: &[u8]) {
        let mut masked = Attributes::default();
        masked.number(attribute::BITWISE_SREG, REGISTER);
        masked.number(attribute::BITWISE_DREG, REGISTER);
        masked.number(attribute::BITWISE_LEN, u32::try_from(mask.len()).unwrap_or_default());
        masked.nested(attribute::BITWISE_MASK, &value(mask));
        masked.nested(attribute::BITWISE_XOR, &value(&vec![0; mask.len()]));
        self.add("bitwise", &masked);
    }

    /// Matches the first packet of a server to a client that connects, from an address that is not a
    /// loopback address. `offset` is that of the source address.
    pub(super) fn accepts_from_outside(&mut self, protocol: i32, offset: u32, loopback: &[u8], mask: &[u8]) {
        const FLAGS: u32 = 13;
        const SYN_ACK: u8 = 0x12;
        self.meta(libc::NFT_META_L4PROTO);
        self.compare(libc::NFT_CMP_EQ, &low(libc::IPPROTO_TCP).to_be_bytes()[1..]);
        self.load(libc::NFT_PAYLOAD_TRANSPORT_HEADER, FLAGS, 1);
        self.mask(&[SYN_ACK]);
        self.compare(libc::NFT_CMP_EQ, &[SYN_ACK]);
        self.address(protocol, offset, mask);
        self.compare(libc::NFT_CMP_NEQ, loopback);
    }

    pub(super) fn without_port(&mut self, port: u16) {
        self.load(libc::NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2);
        self.compare(libc::NFT_CMP_NEQ, &port.to_be_bytes());
    }

    /// Matches packets to a TCP port of this machine. All of its addresses are reached through
    /// `lo`.
    pub(super) fn with_own_port(&mut self, port: u16) {
        const LOOPBACK: &[u8; 16] = b"lo\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
        self.meta(libc::NFT_META_OIFNAME);
        self.compare(libc::NFT_CMP_EQ, LOOPBACK);
        self.meta(libc::NFT_META_L4PROTO);
        self.compare(libc::NFT_CMP_EQ, &low(libc::IPPROTO_TCP).to_be_bytes()[1..]);
        self.load(libc::NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2);
        self.compare(libc::NFT_CMP_EQ, &port.to_be_bytes());
    }

    /// Rejects with "destination unreachable".
    pub(super) fn unreachable(&mut self) {
        self.reject(libc::NFT_REJECT_ICMPX_UNREACH, Some(libc::NFT_REJECT_ICMPX_ADMIN_PROHIBITED));
    }

    /// Rejects with a TCP reset, like a closed port.
    pub(super) fn reset(&mut self) {
        self.reject(libc::NFT_REJECT_TCP_RST, None);
    }

    fn reject(&mut self, how: i32, code: Option<i32>) {
        let mut reject = Attributes::default();
        reject.number(attribute::REJECT_TYPE, how.unsigned_abs());
        if let Some(code) = code {
            reject.push(attribute::REJECT_ICMP_CODE, &low(code).to_be_bytes()[1..]);
        }
        self.add("reject", &reject);
    }

    fn meta(&mut self, key: i32) {
        let mut meta = Attributes::default();
        meta.number(attribute::META_DREG, REGISTER);
        meta.number(attribute::META_KEY, key.unsigned_abs());
        self.add("meta", &meta);
    }

    fn load(&mut self, base: i32, offset: u32, length: u32) {
        let mut load = Attributes::default();
        load.number(attribute::PAYLOAD_DREG, REGISTER);
        load.number(attribute::PAYLOAD_BASE, base.unsigned_abs());
        load.number(attribute::PAYLOAD_OFFSET, offset);
        load.number(attribute::PAYLOAD_LEN, length);
        self.add("payload", &load);
    }

    fn compare(&mut self, how: i32, with: &[u8]) {
        let mut compare = Attributes::default();
        compare.number(attribute::CMP_SREG, REGISTER);
        compare.number(attribute::CMP_OP, how.unsigned_abs());
        compare.nested(attribute::CMP_DATA, &value(with));
        self.add("cmp", &compare);
    }

    fn add(&mut self, name: &str, data: &Attributes) {
        let mut expression = Attributes::default();
        expression.text(attribute::EXPR_NAME, name);
        expression.nested(attribute::EXPR_DATA, data);
        self.0.nested(attribute::LIST_ELEM, &expression);
    }
}

fn value(bytes: &[u8]) -> Attributes {
    let mut data = Attributes::default();
    data.push(attribute::DATA_VALUE, bytes);
    data
}

#[derive(Default)]
struct Attributes(Vec<u8>);

impl Attributes {
    fn push(&mut self, kind: u16, content: &[u8]) {
        self.0.extend(low(4 + content.len()).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(content);
        self.0.resize(self.0.len().next_multiple_of(ALIGN), 0);
    }

    fn text(&mut self, kind: u16, text: &str) {
        self.push(kind, &[text.as_bytes(), &[0]].concat());
    }

    /// Numbers are big-endian.
    fn number(&mut self, kind: u16, number: u32) {
        self.push(kind, &number.to_be_bytes());
    }

    fn nested(&mut self, kind: u16, inner: &Self) {
        self.push(kind | NESTED, &inner.0);
    }
}

fn low<T: TryInto<u16>>(number: T) -> u16 {
    number.try_into().unwrap_or_default()
}
