/**
 * A strict reading of RFC 9112 for the requests of one connection, written independently of the parser of Node.js. Where the RFC
 * lets a recipient repair a message or reject it, this parser rejects it: another server may repair it in another way. Decision 58
 * lists the deviations that it accepts.
 */

export interface StrictRequest {
  readonly method: string
  readonly target: string
  readonly version: '1.0' | '1.1'
  /** Names in lower case. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
  /** Whether the connection ends after the response, so that further bytes are not a request. */
  readonly isLast: boolean
  /** Whether the connection can change its protocol, so that further bytes are not HTTP. */
  readonly switchesProtocol: boolean
}

export interface StrictStream {
  readonly requests: readonly StrictRequest[]
  /** Why the bytes after the last request are not a request; undefined if there are none, or they are incomplete. */
  readonly problem: string | undefined
  /** Whether a valid head is before the problem, so that a response can be sent before the problem is found. */
  readonly isInBody: boolean
}

class Invalid extends Error {
  isInBody = false
}
class Incomplete extends Error {}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
/** VCHAR, also those that are in no URI, a fragment, which the proxy removes, and bytes above ASCII, which the proxy encodes. */
const TARGET = /^[\x21-\x7e\x80-\xff]+$/
/** uri-host [ ":" port ], which can be empty. */
const HOST = /^(\[[0-9A-Fa-f:.]+(%25[\w.~-]+)?\]|([\w.~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(:\d*)?$/
/** Every recipient ignores extensions, so only bytes that could end the line elsewhere matter, and those are in no line. */
const CHUNK_LINE = /^([0-9A-Fa-f]+)(?:[\t ]*;[\t\x20-\x7e\x80-\xff]*)?$/
/** Section 3 allows several spaces between the words, which change no boundary. */
const REQUEST_LINE = /^([^ ]+) +([^ ]+) +(HTTP\/1\.[01])$/

/** Reads lines and bytes from a buffer. */
class Reader {
  private at = 0
  private readonly bytes: Buffer

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.at === this.bytes.length
  }

  /** The next line without its CRLF. A line contains neither CR nor LF nor NUL. */
  line(): string {
    const end = this.bytes.indexOf(10, this.at)
    const text = this.bytes.toString('latin1', this.at, end < 0 ? this.bytes.length : end)
    // A CR can be the first byte of an incomplete CRLF.
    const isOpen = end < 0
    const content = isOpen || !text.endsWith('\r') ? text : text.slice(0, -1)
    if (isOpen ? /[\0\n]|\r(?!$)/.test(content) : /[\0\r\n]/.test(content))
      throw new Invalid('a control character in a line')
    if (isOpen) throw new Incomplete()
    if (!text.endsWith('\r')) throw new Invalid('a line that ends without CR')
    this.at = end + 1
    return content
  }

  take(length: number): Buffer {
    if (length > this.bytes.length - this.at) throw new Incomplete()
    this.at += length
    return this.bytes.subarray(this.at - length, this.at)
  }

  /**
   * Skips the empty lines before a request line, as section 2.2 recommends. They belong to no message, so a server that ends a line
   * at a single LF finds the same requests.
   */
  skipEmptyLines(): void {
    while (this.bytes[this.at] === 13 || this.bytes[this.at] === 10) this.at++
  }
}

function parseField(line: string): readonly [string, string] {
  const colon = line.indexOf(':')
  const name = line.slice(0, colon)
  if (colon < 0 || !TOKEN.test(name)) throw new Invalid('a field name that is not a token')
  const value = line.slice(colon + 1)
  if (!FIELD_VALUE.test(value)) throw new Invalid('a field value with control characters')
  return [name.toLowerCase(), value.replace(/^[\t ]+|[\t ]+$/g, '')]
}

function parseFields(reader: Reader): (readonly [string, string])[] {
  const fields: (readonly [string, string])[] = []
  for (let line = reader.line(); line !== ''; line = reader.line()) fields.push(parseField(line))
  return fields
}

const valuesOf = (fields: StrictRequest['fields'], name: string): string[] =>
  fields.filter(([found]) => found === name).map(([, value]) => value)

/** The members of a list field, in lower case. */
export const membersOf = (fields: StrictRequest['fields'], name: string): string[] =>
  valuesOf(fields, name)
    .join(',')
    .split(',')
    .map((member) => member.trim().toLowerCase())

function readChunks(reader: Reader): Buffer {
  const chunks: Buffer[] = []
  for (;;) {
    const match = CHUNK_LINE.exec(reader.line())
    if (match === null) throw new Invalid('a chunk size that is not valid')
    const size = Number.parseInt(match[1] as string, 16)
    if (!Number.isSafeInteger(size)) throw new Invalid('a chunk size that is too large')
    if (size === 0) break
    chunks.push(reader.take(size))
    if (reader.take(2).toString('latin1') !== '\r\n') throw new Invalid('a chunk that does not end with CRLF')
  }
  parseFields(reader)
  return Buffer.concat(chunks)
}

function readBody(reader: Reader): Buffer {
  try {
    return readChunks(reader)
  } catch (error) {
    if (error instanceof Invalid) error.isInBody = true
    throw error
  }
}

function parseRequest(reader: Reader): StrictRequest {
  reader.skipEmptyLines()
  const [, method = '', target = '', version] = REQUEST_LINE.exec(reader.line()) ?? []
  if (!TOKEN.test(method) || !TARGET.test(target)) throw new Invalid('a request line that is not valid')
  const fields = parseFields(reader)
  const hosts = valuesOf(fields, 'host')
  // An exception from the RFC: clients omit Host with CONNECT, whose target is a host and a port.
  if (hosts.length > 1 || (hosts.length === 0 && version === 'HTTP/1.1' && method !== 'CONNECT'))
    throw new Invalid('not one Host field')
  if (hosts.some((host) => !HOST.test(host))) throw new Invalid('a Host that is not valid')
  const codings = valuesOf(fields, 'transfer-encoding')
  const lengths = valuesOf(fields, 'content-length')
  if (codings.length > 0 && lengths.length > 0) throw new Invalid('Transfer-Encoding and Content-Length')
  if (codings.length > 1 || lengths.length > 1) throw new Invalid('a repeated framing field')
  const [coding] = codings
  const [length = '0'] = lengths
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    throw new Invalid('a transfer coding other than chunked')
  if (!/^\d+$/.test(length) || !Number.isSafeInteger(Number(length)))
    throw new Invalid('a length that is not valid')
  const body = coding === undefined ? reader.take(Number(length)) : readBody(reader)
  const options = membersOf(fields, 'connection')
  const isOld = version === 'HTTP/1.0'
  return {
    method,
    target,
    version: isOld ? '1.0' : '1.1',
    fields,
    body,
    // Section 6.1: the framing of a message of HTTP/1.0 with a transfer coding is faulty, so the connection is closed after it.
    isLast: options.includes('close') || (isOld && (!options.includes('keep-alive') || coding !== undefined)),
    switchesProtocol:
      method === 'CONNECT' || (options.includes('upgrade') && valuesOf(fields, 'upgrade').length > 0),
  }
}

/** Parses the bytes that a client sent before it closed its side of the connection. */
export function parseStrictly(bytes: Buffer): StrictStream {
  const reader = new Reader(bytes)
  const requests: StrictRequest[] = []
  try {
    while (!reader.isAtEnd) {
      const request = parseRequest(reader)
      requests.push(request)
      if (request.isLast || request.switchesProtocol) break
    }
  } catch (error) {
    if (error instanceof Invalid) return { requests, problem: error.message, isInBody: error.isInBody }
    if (!(error instanceof Incomplete)) throw error
  }
  return { requests, problem: undefined, isInBody: false }
}
