import { describe, expect, it } from 'vitest'
import { parseStrictly } from './strict-http.js'

const parse = (text: string) => parseStrictly(Buffer.from(text, 'latin1'))
const HEAD = 'POST http://a/ HTTP/1.1\r\nHost: a\r\n'

describe('the strict parser', () => {
  it('finds pipelined requests with a length and with chunks', () => {
    const { requests, problem } = parse(
      `${HEAD}Content-Length: 3\r\n\r\nabc${HEAD}Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\n`,
    )
    expect(problem).toBeUndefined()
    expect(requests.map(({ body }) => body.toString())).toEqual(['abc', 'abcde'])
  })

  it.each([
    ['a bare LF', `POST http://a/ HTTP/1.1\nHost: a\r\n\r\n`],
    ['obs-fold', `${HEAD}X: a\r\n b\r\n\r\n`],
    ['a space before the colon', `${HEAD}X : a\r\n\r\n`],
    ['NUL', `${HEAD}X: a\0b\r\n\r\n`],
    ['no Host', 'GET http://a/ HTTP/1.1\r\n\r\n'],
    ['two Hosts', `${HEAD}Host: a\r\n\r\n`],
    ['both framings', `${HEAD}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['two lengths', `${HEAD}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc`],
    ['a signed length', `${HEAD}Content-Length: +3\r\n\r\nabc`],
    ['another coding', `${HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    [
      'a chunk size that overflows',
      `${HEAD}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\na\r\n0\r\n\r\n`,
    ],
    ['a chunk without CRLF', `${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n`],
    ['a version that is missing', 'GET http://a/\r\nHost: a\r\n\r\n'],
  ])('rejects %s', (_, text) => {
    const { requests, problem } = parse(`${text}GET http://a/two HTTP/1.1\r\nHost: a\r\n\r\n`)
    expect(requests).toEqual([])
    expect(problem).toBeDefined()
  })

  // The deviations that docs/decisions/0058-fuzzing.md lists.
  it.each([
    ['empty lines before a request', '\r\n\n\rGET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['several spaces in a request line', 'GET  http://a/   HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a fragment in a target', 'GET http://a/#b HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['characters in a target that a URI must encode', 'GET http://a/"<>\\^`{|} HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['% without digits in a target', 'GET http://a/%zz HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a target of no form of the RFC', 'GET a HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['bytes above ASCII in a target', 'GET http://a/\xff HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['an IPv6 address that does not exist', 'GET http://a/ HTTP/1.1\r\nHost: [::::]\r\n\r\n'],
    ['CONNECT without Host', 'CONNECT a:443 HTTP/1.1\r\n\r\n'],
    [
      'any chunk extension and trailer',
      `${HEAD}Transfer-Encoding: chunked\r\n\r\n0 ;"=\xff\r\nContent-Length: 5\r\n\r\n`,
    ],
  ])('accepts %s', (_, text) => {
    expect(parse(text)).toMatchObject({ requests: [{}], problem: undefined })
  })

  it.each([
    ['a tab in a request line', 'GET\thttp://a/ HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a control character in a target', 'GET http://a/\x01 HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['DEL in a target', 'GET http://a/\x7f HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['CONNECT with two Hosts', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n'],
  ])('rejects %s', (_, text) => {
    expect(parse(text)).toMatchObject({ requests: [], problem: expect.any(String) })
  })

  it('stops at a request that closes the connection, and at one that is incomplete', () => {
    const last = 'GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
    expect(parse(`${last}${last}`)).toMatchObject({ requests: [{ isLast: true }], problem: undefined })
    expect(parse(`${HEAD}Content-Length: 5\r\n\r\nabc`)).toMatchObject({ requests: [], problem: undefined })
  })
})
