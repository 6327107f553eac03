/** The largest reply. A larger one does not arrive within the timeout of a command. */
const MAX_REPLY_BYTES = 64 * 2 ** 20

/** The most values in a reply, and how deep lists can be nested in it. */
const MAX_VALUES = 2 ** 20
const MAX_DEPTH = 32

/** The longest line: the text of an error, or the length of a value. */
const MAX_LINE_BYTES = 64 * 2 ** 10

const CR = 0x0d
const LF = 0x0a
const LINE_END_BYTES = 2

/** A list of a subscription and a published message begin with this number of texts: their kind and the channel. */
const MESSAGE_TEXTS = 2

/** The types of values that consist of one line, by their first character. */
const LINE_PATTERNS: Readonly<Record<string, RegExp>> = {
  '+': /^/,
  '-': /^/,
  ':': /^[+-]?\d{1,40}$/,
  '(': /^[+-]?\d+$/,
  ',': /^([+-]?(\d+(\.\d*)?([eE][+-]?\d+)?|inf)|nan)$/,
  '#': /^[tf]$/,
}

/**
 * The types whose line is a length in bytes, with the shortest, and those whose line is a number of items, with the values of an
 * item. A text with a format begins with its three letters and a colon.
 */
const MIN_LENGTH_BY_BULK_TYPE: Readonly<Record<string, number>> = { $: 0, '!': 0, '=': 4 }
const VALUES_PER_ITEM: Readonly<Record<string, number>> = { '*': 1, '~': 1, '>': 1, '%': 2 }

const ERROR_TYPES = new Set(['-', '!'])

/** Commands that ioredis expects a subscription as the reply to. */
const SUBSCRIBE_PATTERN = /^[ps]?subscribe$/i

/** What the client waits for. */
export interface ClientState {
  /** The name of the first command without a reply. */
  readonly command: string | undefined
  /** Whether every list is a published message or the reply to a subscription: that is so in version 2 of the protocol. */
  readonly isSubscriber: boolean
}

/** The error of a reply that is not valid. It contains no text of the reply, which may be a secret. */
export class InvalidReplyError extends Error {
  constructor(reason: string) {
    super(`Redis sent an invalid reply: ${reason}`)
  }
}

function parseLength(line: string, min = 0): number {
  if (!/^\d{1,10}$/.test(line) || Number(line) < min) throw new InvalidReplyError('a length is not valid')
  return Number(line)
}

/**
 * Checks what a server sends before ioredis reads it, and passes on each reply separately. ioredis trusts the server: some replies
 * make it throw outside of every call, or allocate a list of any length that a few bytes declare.
 */
export class ReplyChecker {
  private readonly clientState: () => ClientState
  private readonly pass: (bytes: Buffer) => void
  /** The start of a line that has not arrived completely. */
  private line: Buffer = Buffer.alloc(0)
  /** How many bytes of a value are still to come, with its line end. */
  private bodyBytes = 0
  /** How many values each open list still needs, with its own head, the innermost last. */
  private readonly openLists: number[] = []
  private replyBytes = 0
  /** How many values the lists of the reply have, as far as they are declared. */
  private replyValues = 0
  /** How many of the next values must be texts. */
  private expectedTexts = 0

  /** `clientState` is called at the start of each reply; `pass` receives the bytes that were checked. */
  constructor(clientState: () => ClientState, pass: (bytes: Buffer) => void) {
    this.clientState = clientState
    this.pass = pass
  }

  /** @throws InvalidReplyError if a reply is not valid. Nothing can be read after it. */
  read(chunk: Buffer): void {
    const received = this.line.length === 0 ? chunk : Buffer.concat([this.line, chunk])
    let passed = 0
    let offset = 0
    while (offset < received.length) {
      const end = this.bodyBytes > 0 ? this.skipBody(received, offset) : this.readLine(received, offset)
      if (end === undefined) break
      this.replyBytes += end - offset
      if (this.replyBytes + this.bodyBytes > MAX_REPLY_BYTES)
        throw new InvalidReplyError(`a reply has more than ${MAX_REPLY_BYTES} bytes`)
      offset = end
      if (this.bodyBytes > 0 || !this.endValue()) continue
      this.replyBytes = 0
      this.replyValues = 0
      this.pass(received.subarray(passed, offset))
      passed = offset
    }
    this.line = received.subarray(offset)
    if (this.line.length > MAX_LINE_BYTES) throw new InvalidReplyError('a line has no end')
    if (offset > passed) this.pass(received.subarray(passed, offset))
  }

  private skipBody(received: Buffer, offset: number): number {
    const count = Math.min(this.bodyBytes, received.length - offset)
    this.bodyBytes -= count
    return offset + count
  }

  /** Reads the line at `offset` and returns where it ends; undefined if it has not arrived completely. */
  private readLine(received: Buffer, offset: number): number | undefined {
    const end = received.indexOf(CR, offset)
    if (end === -1 || end + 1 === received.length) return undefined
    if (received[end + 1] !== LF) throw new InvalidReplyError('a line does not end with CR LF')
    if (end === offset) throw new InvalidReplyError('a line is empty')
    this.beginValue(
      received.toString('latin1', offset, offset + 1),
      received.toString('latin1', offset + 1, end),
    )
    return end + LINE_END_BYTES
  }

  private beginValue(type: string, line: string): void {
    const isMessage = this.openLists.length === 0 && this.beginReply(type)
    if (type === '>' && !isMessage) throw new InvalidReplyError('a message is within another value')
    const valuesPerItem = VALUES_PER_ITEM[type]
    const minLength = MIN_LENGTH_BY_BULK_TYPE[type]
    const isNull = (type === '_' && line === '') || (line === '-1' && (type === '$' || type === '*'))
    if (this.expectedTexts > 0) {
      this.expectedTexts--
      if (isNull || valuesPerItem !== undefined)
        throw new InvalidReplyError('a message does not begin with texts')
    }
    if (isNull && !isMessage) return
    if (valuesPerItem !== undefined) this.beginList(parseLength(line) * valuesPerItem, isMessage)
    else if (minLength !== undefined) this.bodyBytes = parseLength(line, minLength) + LINE_END_BYTES
    else if (LINE_PATTERNS[type]?.test(line) !== true)
      throw new InvalidReplyError('a value of an unknown type')
  }

  /** Checks whether the client can receive a reply of this type now. Returns whether it must be a message. */
  private beginReply(type: string): boolean {
    if (ERROR_TYPES.has(type)) return false
    const { command, isSubscriber } = this.clientState()
    if (type === '>' || (type === '*' && isSubscriber)) return true
    if (command === undefined) throw new InvalidReplyError('a reply to no command')
    if (!SUBSCRIBE_PATTERN.test(command)) return false
    if (type !== '*') throw new InvalidReplyError('another type than the reply to a subscription')
    return true
  }

  private beginList(values: number, isMessage: boolean): void {
    if (this.openLists.length === MAX_DEPTH)
      throw new InvalidReplyError(`lists are nested deeper than ${MAX_DEPTH}`)
    this.replyValues += values
    if (this.replyValues > MAX_VALUES)
      throw new InvalidReplyError(`a reply has more than ${MAX_VALUES} values`)
    if (isMessage) {
      if (values < MESSAGE_TEXTS) throw new InvalidReplyError('a message does not begin with texts')
      this.expectedTexts = MESSAGE_TEXTS
    }
    this.openLists.push(values + 1)
  }

  /** Ends a value and the lists that it completes. Returns whether it completes the reply. */
  private endValue(): boolean {
    const { openLists } = this
    while (openLists.length > 0) {
      const left = (openLists.pop() as number) - 1
      if (left === 0) continue
      openLists.push(left)
      return false
    }
    return true
  }
}
