import fc from 'fast-check'

/** The place of the port in a case. It has five characters, as the port that replaces it, so that no length changes. */
const PORT_MARK = 'PPPPP'
/** The place of the number of the case, with eight characters. */
const ID_MARK = 'IIIIIIII'

/** The bytes of a case with the port of a target and the number of the case. */
export const fillMarks = (bytes: Buffer, port: number, id: number): Buffer =>
  Buffer.from(
    bytes.toString('latin1').replaceAll(PORT_MARK, String(port)).replaceAll(ID_MARK, String(id)),
    'latin1',
  )

/** The numbers of cases have as many digits as their place. */
export const FIRST_ID = 10_000_000

const URL = `http://127.0.0.1:${PORT_MARK}/${ID_MARK}`

/** Mostly the first value, and rarely one of the others, so that most requests have at most one problem. */
const usually = (usual: string, ...others: string[]): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 14, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  )

const method = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom('GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'OPTIONS', 'PATCH') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('get', 'G ET', '', '\r\nGET', '\nGET', 'QUERY', 'GET\t', 'PRI', 'CONNECT'),
  },
)
const target = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(URL, `${URL}/a?b=c`, `${URL}/..//x`, `${URL}%0d%0aX:%20y`) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      `${URL}#fragment`,
      `${URL}\\x`,
      `${URL} x`,
      `${URL}\t`,
      `${URL}/\xc3\xa4`,
      `http://u:p@127.0.0.1:${PORT_MARK}/${ID_MARK}`,
      `http://127.0.0.1:${PORT_MARK}`,
      `HTTP://127.0.0.1:${PORT_MARK}/${ID_MARK}`,
      `http:/127.0.0.1:${PORT_MARK}/`,
      `http://127.0.0.1:${PORT_MARK}?${ID_MARK}`,
      '/',
      '*',
      `127.0.0.1:${PORT_MARK}`,
      `${URL}\0`,
    ),
  },
)
const version = usually(
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/2.0',
  'HTTP/0.9',
  'http/1.1',
  'HTTP/1.1 ',
  'HTTP/1.10',
  'HTTP/1',
  'ICE/1.0',
  '',
)
const lineEnd = usually('\r\n', '\n', '\r', '\r\r\n', '\0\r\n', ' \r\n')

const field = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('Accept: */*', 'X-A: b', 'Cookie: a=1', 'X-Empty:', 'X-Tab:\ta\t'),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'Connection: close',
      'Connection: keep-alive',
      'Connection: x-a, close',
      'Proxy-Connection: keep-alive',
      'Proxy-Authorization: Basic c2VjcmV0OnNlY3JldA==',
      'X-Holdfast-Policy: default',
      'Expect: 100-continue',
      'TE: trailers',
      'Trailer: X-T',
      'Upgrade: h2c',
      'Connection: Upgrade',
      'Connection: Transfer-Encoding',
      'Connection: Content-Length',
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ' folded: x',
      '\tfolded',
      'X-A : b',
      'X A: b',
      ': empty',
      'no colon',
      'X-Nul: a\0b',
      'X-Cr: a\rb',
      'X-Bell: \x07',
      'X-High: \xff\xe4',
      'X-Del: \x7f',
      'Host: other',
      'Host: a b',
      'Content-Length: 0',
      'Content-Length: 3',
      'Transfer-Encoding: chunked',
      'Transfer_Encoding: chunked',
      `X: a\r\n b`,
      'X-Injected: a\r\nX-Other: b',
    ),
  },
)

const BODY = `GET ${URL}/inner HTTP/1.1\r\nHost: a\r\n\r\n`
const body = fc.constantFrom('', 'abc', BODY, `\r\n${BODY}`, '0\r\n\r\n', 'a\0b\xff', 'x'.repeat(300))

const coding = usually(
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: Chunked',
  'Transfer-Encoding:chunked',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: identity',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked;q=1',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding: ,chunked',
  'Transfer-Encoding: chunked,',
  'Transfer-Encoding:\r\n chunked',
  'Transfer-Encoding:\x0bchunked',
  'Transfer-Encoding: \tchunked\t',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
  'transfer-encoding: chunked\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nContent-Length: 3',
  'Content-Length: 3\r\nTransfer-Encoding: chunked',
  'X: y\nTransfer-Encoding: chunked',
)
const chunkExtension = usually(
  '',
  ';a',
  ';a=b',
  ' ;a',
  ';a="b;c"',
  ';a="\r\n"',
  ';\n',
  ';a\rb',
  ' ',
  '\t',
  ';=',
  ';a=b c',
  `;${'x'.repeat(20_000)}`,
)
const sizePrefix = usually(
  '',
  '0',
  '000',
  '0x',
  '+',
  '-',
  ' ',
  'ffffffffffffffff',
  '10000000000000000',
  '8000000000000000',
)
const chunkEnd = usually('\r\n', '\n', '\r', '', 'x\r\n', '\r\n\r\n')
const chunk = fc
  .tuple(body, sizePrefix, chunkExtension, lineEnd, chunkEnd)
  .map(([data, prefix, extension, end, after]) =>
    data === '' ? '' : `${prefix}${data.length.toString(16)}${extension}${end}${data}${after}`,
  )
const lastChunk = fc
  .tuple(
    usually('0', '00', '', '-0', '0x0', 'G'),
    chunkExtension,
    lineEnd,
    usually('', 'X-T: 1\r\n', 'Content-Length: 5\r\n', 'Host: b\r\n', ' x\r\n', 'X-T : 1\r\n', 'X\n'),
    lineEnd,
  )
  .map((parts) => parts.join(''))

interface Framed {
  readonly fields: string
  readonly body: string
}
const framing: fc.Arbitrary<Framed> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ fields: '', body: '' }) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        body,
        fc.constantFrom(0, 0, 0, 0, 0, 0, 1, -1),
        fc.constantFrom('', '', '', '', '', '', '', '', '+', '-', '0', '0x', ' ', '00000000000000000000'),
        fc.constantFrom('', '', '', '', '', '', '', '', ',', ', 3', 'x', '.0', 'e0', ' ', '\t', '_0'),
      )
      .map(([data, off, before, after]) => ({
        fields: `Content-Length: ${before}${Math.max(0, data.length + off)}${after}\r\n`,
        body: data,
      })),
  },
  {
    weight: 5,
    arbitrary: fc
      .tuple(coding, fc.array(chunk, { maxLength: 3 }), lastChunk)
      .map(([name, chunks, last]) => ({ fields: `${name}\r\n`, body: chunks.join('') + last })),
  },
)

const request = fc
  .tuple(
    method,
    target,
    version,
    usually('Host: a\r\n', '', 'Host: a\r\nHost: a\r\n', 'Host:\r\n', 'Host: a@b\r\n', 'Host: [::1]:80\r\n'),
    fc.array(fc.tuple(field, lineEnd), { maxLength: 3 }),
    framing,
    lineEnd,
    usually('\r\n', '\n', '\r', ''),
  )
  .map(
    ([verb, url, http, host, fields, { fields: framingFields, body: data }, firstEnd, headEnd]) =>
      `${verb} ${url} ${http}${firstEnd}${host}${fields.map(([text, end]) => text + end).join('')}${framingFields}${headEnd}${data}`,
  )

/** What clients send on one connection: one to three requests, most of them with one problem at most. */
export const requestStreams: fc.Arbitrary<Uint8Array> = fc
  .tuple(
    fc.array(request, { minLength: 1, maxLength: 3 }),
    fc.constantFrom('', '', '', '\r\n', '\n', '\0', BODY),
  )
  .map(([requests, rest]) => Buffer.from(requests.join('') + rest, 'latin1'))

export const REQUEST_DICTIONARY = [
  '\r\n',
  '\n',
  '\r',
  '\r\n\r\n',
  '\n\n',
  '\0',
  ' ',
  ':',
  ';',
  ',',
  '0\r\n\r\n',
  'Content-Length: 3\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Host: b\r\n',
  'Connection: close\r\n',
  'HTTP/1.1\r\n',
  'HTTP/1.0',
  BODY,
  `POST ${URL} HTTP/1.1\r\nHost: a\r\n`,
  '\x0b',
  '\x85',
  '\xa0',
]
