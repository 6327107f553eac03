import { describe, expect, it } from 'vitest'
import { classify } from '../../src/classify/index.js'
import { shaped } from './shapes.js'

const TABLE = {
  'transient timeout': `ETIMEDOUT ESOCKETTIMEDOUT ETIMEOUT UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT
    UND_ERR_BODY_TIMEOUT ERR_SOCKET_CONNECTION_TIMEOUT ERR_HTTP_REQUEST_TIMEOUT PROTOCOL_SEQUENCE_TIMEOUT
    notionhq_client_request_timeout`,
  'transient network_error': `ECONNREFUSED ECONNRESET ECONNABORTED ECONNCLOSED EPIPE EPROTO ENOTFOUND ENOTCONN
    EADDRNOTAVAIL ESHUTDOWN ESERVFAIL ESOCKET EAI_AGAIN EAI_FAIL EAI_NODATA EHOSTUNREACH EHOSTDOWN ENETUNREACH ENETDOWN
    ENETRESET HPE_INVALID_CONSTANT UND_ERR_SOCKET ERR_NETWORK ERR_SOCKET_CLOSED ERR_STREAM_PREMATURE_CLOSE
    ERR_HTTP2_STREAM_ERROR ERR_HTTP2_STREAM_CANCEL ERR_HTTP2_SESSION_ERROR ERR_HTTP2_GOAWAY_SESSION PROTOCOL_CONNECTION_LOST ConnectionRefused
    ConnectionClosed`,
  'permanent cancelled': 'ABORT_ERR ERR_CANCELED ERR_ABORTED UND_ERR_ABORTED',
  'transient disk_full': 'ENOSPC EDQUOT',
  'permanent access_denied': 'EACCES EPERM EROFS',
  'permanent not_found': 'ENOENT ENOTDIR',
  'permanent conflict': 'EEXIST ENOTEMPTY',
  'permanent validation': 'EINVAL UND_ERR_INVALID_ARG UND_ERR_INVALID_RETURN_VALUE',
  'transient unknown': `EBUSY EAGAIN EMFILE ENOMEM XECONNRESET ENOENTX XEPIPE ENOSPCX ERR_SOMETHING EACCESSORY EINVALID
    XEINVAL EXISTX XENOENT XEACCES ERR_HTTP2_INVALID_SETTING ERR_HTTP2_STREAM_SELF_DEPENDENCY ERR_SOCKET_BAD_PORT TIMEOUTS ABORT_ERRX XABORT_ERR XENOSPC XUND_ERR_SOCKET
    EROFSX ENOTDIRX EEXISTX XEEXIST ENOTEMPTYX EPIPEX request_timeouts`,
}

describe('codes of systems, sockets and HTTP clients', () => {
  for (const [answer, codes] of Object.entries(TABLE)) {
    const [category, kind] = answer.split(' ')
    it.each(codes.split(/\s+/))(`${answer}: %s`, (code) => {
      expect(classify(shaped({ code }))).toEqual({ category, kind })
    })
  }

  it('classifies a network code before all other properties', () => {
    expect(classify(shaped({ code: 'ECONNREFUSED', sqlState: 'HY000', errno: -111 }))).toEqual({
      category: 'transient',
      kind: 'network_error',
    })
    expect(classify(shaped({ code: 'ECONNRESET', response: { statusCode: 200 } })).kind).toBe('network_error')
  })

  it('distinguishes a timeout of axios from an aborted connection', () => {
    expect(classify(shaped({ code: 'ECONNABORTED' }, 'timeout of 30ms exceeded')).kind).toBe('timeout')
    expect(classify(shaped({ code: 'ECONNABORTED' }, 'Request aborted; no timeout')).kind).toBe(
      'network_error',
    )
    expect(classify(shaped({ code: 'ERR_OTHER' }, 'timeout of 30ms')).kind).toBe('unknown')
    expect(classify({ code: 'ECONNABORTED' }).kind).toBe('network_error')
  })

  it('classifies the code of a programming error as permanent', () => {
    const range = Object.assign(new RangeError('port'), { code: 'ERR_SOCKET_BAD_PORT' })
    expect(classify(range)).toEqual({ category: 'permanent', kind: 'unknown' })
  })

  it('returns the same frozen classification for equal codes', () => {
    const first = classify(shaped({ code: 'ECONNREFUSED' }))
    expect(classify(shaped({ code: 'EPIPE' }))).toBe(first)
    expect(Object.isFrozen(first)).toBe(true)
    expect(classify(new Error('x'))).toBe(classify(new Error('y')))
    expect(Object.isFrozen(classify(new Error('x')))).toBe(true)
  })

  it('still classifies codes after thousands of others', () => {
    for (let i = 0; i < 3000; i++) classify(shaped({ code: `MY_CODE_${i}` }))
    expect(classify(shaped({ code: 'MY_CODE_2999' })).kind).toBe('unknown')
    expect(classify(shaped({ code: 'EAI_OVERFLOW' })).kind).toBe('network_error')
    expect(classify(shaped({ code: 'EAI_OVERFLOW' })).kind).toBe('network_error')
  })
})
