import {
  CANCELLED,
  type Classification,
  createClassification,
  memoize,
  NETWORK,
  PERMANENT_UNKNOWN,
  PROGRAMMING_ERROR,
  TIMEOUT,
  UNKNOWN,
} from './classification.js'

/**
 * Classifications with their patterns, of which the first match counts. A pattern matches the code, name or class name of an
 * error (of an operating system, Node.js, Bun, undici, an HTTP client, an SDK; many are recognised by their ending), or one of
 * `http:` with a status, `sql:` with a SQLSTATE, `grpc:` with a status, `mongo:` with a code or label.
 */
const CODE_PATTERNS: readonly (readonly [Classification, RegExp])[] = [
  [TIMEOUT, /^(http:408|sql:57014|grpc:DEADL.*)$|TIMED?OUT$|_timeout$|Timeout(Error|Exception)?$/],
  [
    NETWORK,
    /^(sql:08.*|E(CONN.*|PIPE|PROTO|NOTFOUND|NOTCONN|ADDRNOTAVAIL|SHUTDOWN|SERVFAIL|SOCKET|(AI_|HOST|NET).*)|HPE_.*|Malformed_HTTP.*|UND_ERR_SOCKET|HTTPParserError|ERR_(NETWORK|SOCKET_CLOSED|STREAM_PREM.*|HTTP2_(STREAM_(ERROR|CANCEL)|SESSION_ERROR|GOAWAY.*))|PROTOCOL_CONN.*)$|(Connection|Network|Socket)(Error|Exception|Refused|Closed)$/,
  ],
  [
    CANCELLED,
    /^(http:499|grpc:CANC.*|ABORT_ERR|(UND_)?ERR_(ABORT|CANCEL)ED|(APIUser)?AbortError|Cancell?edError)$/,
  ],
  [PROGRAMMING_ERROR, /^((Type|Range|Reference|Syntax|Eval|URI)Error|AssertionError.*)$/],
  [
    createClassification('transient', 'rate_limited'),
    /^(http:429|grpc:RESO|(Request)?LimitExc|SlowDown)|Throttl|TooManyReq|ThroughputExc/,
  ],
  [createClassification('critical', 'auth'), /^(http:401|sql:28|grpc:UNAUTH)/],
  [createClassification('permanent', 'auth'), /^http:407/],
  [createClassification('transient', 'disk_full'), /^(sql:53100|ENOSPC|EDQUOT)$/],
  [createClassification('transient', 'conflict'), /^(sql:(40|55P03)|grpc:ABORT|mongo:Tra)/],
  [createClassification('transient', 'server_error'), /^(http:5(?!01|05)|sql:5[378]|grpc:UNAV|mongo:Ret)/],
  [createClassification('permanent', 'server_error'), /^(http:5|grpc:(UN|INT|DATA))/],
  [
    createClassification('permanent', 'access_denied'),
    /^(http:4(03|51)|sql:42501|grpc:PERM|EACCES$|EPERM$|EROFS$)/,
  ],
  [createClassification('permanent', 'not_found'), /^(http:4(04|10)|grpc:.*NOT_FOUND|ENOENT$|ENOTDIR$)/],
  [
    createClassification('permanent', 'conflict'),
    /^(http:4(09|12|23)|sql:23|grpc:ALR|mongo:1100[01]$|EEXIST$|ENOTEMPTY$)/,
  ],
  [
    createClassification('permanent', 'validation'),
    /^(http:4(0[056]|1[1-7]|22|28|31)|sql:[24]2|grpc:|EINVAL$|UND_ERR_INV)|Validation(Error|Exception)$/,
  ],
  [UNKNOWN, /^http:425/],
  [PERMANENT_UNKNOWN, /^(http|sql):/],
]

/** Classifies a code or name; undefined where it is unknown. Codes are classified before SQLSTATEs, because `EPIPE` has the form of one. */
export const byCode = memoize((code: string) => CODE_PATTERNS.find(([, pattern]) => pattern.test(code))?.[0])
