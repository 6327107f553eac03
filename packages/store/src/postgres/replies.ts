/** The type and the length of a message. */
const HEADER_BYTES = 5

/** PostgreSQL allows no more columns in a result. */
const MAX_COLUMNS = 1664

/** The largest reply to a statement. A page of 200 dead letters with the largest default payload has less than half of it. */
const MAX_REPLY_BYTES = 512 * 2 ** 20

const TYPE = {
  dataRow: 0x44,
  error: 0x45,
  notice: 0x4e,
  notification: 0x41,
  readyForQuery: 0x5a,
  rowDescription: 0x54,
} as const

const describeType = (type: number): string => `of type 0x${type.toString(16).padStart(2, '0')}`

/** The error of a reply that is not valid. It contains no text of the reply, which may be a secret. */
const invalidReply = (reason: string): Error => new Error(`the server sent an invalid reply: ${reason}`)

/** Whether the fields of an error or a notice end in it. The parser of `pg` would read on without an end. */
function hasCompleteFields(body: Buffer): boolean {
  let offset = 0
  while (offset < body.length && body[offset] !== 0) {
    const end = body.indexOf(0, offset + 1)
    if (end === -1) return false
    offset = end + 1
  }
  return offset < body.length
}

/** Whether a row has as many values as there are columns, and they fill it exactly. A negative length would make `pg` read backwards. */
function isValidRow(body: Buffer, columns: number): boolean {
  if (body.length < 2 || body.readInt16BE(0) !== columns) return false
  let offset = 2
  for (let column = 0; column < columns; column++) {
    if (offset + 4 > body.length) return false
    const length = body.readInt32BE(offset)
    if (length < -1) return false
    offset += 4 + Math.max(length, 0)
  }
  return offset === body.length
}

/**
 * Checks what a server sends before the parser of `pg` reads it, and passes on whole messages. That parser trusts the server: a
 * message that is not valid makes it throw, read without an end or use memory without a limit.
 */
export class ReplyChecker {
  private readonly pass: (messages: Buffer) => void
  /** The start of a message, and how many bytes are needed to read on. */
  private pending: Buffer[] = []
  private pendingBytes = 0
  private neededBytes = HEADER_BYTES
  /** The bytes since the end of the last reply, without notifications, which are not collected. */
  private replyBytes = 0
  private columns = 0

  constructor(pass: (messages: Buffer) => void) {
    this.pass = pass
  }

  /** @throws Error if a message is not valid, or if it makes the parser throw. Nothing can be read after it. */
  read(chunk: Buffer): void {
    this.pending.push(chunk)
    this.pendingBytes += chunk.length
    if (this.pendingBytes < this.neededBytes) return
    const received = this.pending.length === 1 ? chunk : Buffer.concat(this.pending, this.pendingBytes)
    const end = this.checkMessages(received)
    this.pending = end === received.length ? [] : [received.subarray(end)]
    this.pendingBytes = received.length - end
    if (end > 0) this.pass(received.subarray(0, end))
  }

  /** Checks all messages that are complete, and returns where they end. */
  private checkMessages(received: Buffer): number {
    let offset = 0
    for (;;) {
      this.neededBytes = HEADER_BYTES
      if (offset + HEADER_BYTES > received.length) return offset
      const type = received.readUInt8(offset)
      const length = received.readUInt32BE(offset + 1)
      if (length < 4) throw invalidReply(`a message ${describeType(type)} has a length of ${length}`)
      if (this.replyBytes + length >= MAX_REPLY_BYTES)
        throw invalidReply(`a reply has more than ${MAX_REPLY_BYTES} bytes`)
      const end = offset + 1 + length
      if (end > received.length) {
        this.neededBytes = end - offset
        return offset
      }
      this.checkMessage(type, received.subarray(offset + HEADER_BYTES, end))
      if (type === TYPE.readyForQuery) this.replyBytes = 0
      else if (type !== TYPE.notification) this.replyBytes += 1 + length
      offset = end
    }
  }

  private checkMessage(type: number, body: Buffer): void {
    if (type === TYPE.rowDescription) {
      this.columns = body.length < 2 ? -1 : body.readInt16BE(0)
      if (this.columns < 0 || this.columns > MAX_COLUMNS)
        throw invalidReply('the number of columns is out of range')
    } else if (type === TYPE.dataRow) {
      if (!isValidRow(body, this.columns)) throw invalidReply('a row does not have the described columns')
    } else if ((type === TYPE.error || type === TYPE.notice) && !hasCompleteFields(body))
      throw invalidReply(`a message ${describeType(type)} has no end`)
  }
}
