const LF = 10

/** A request line whose URL has bytes outside ASCII after its host, up to the end of the line. */
const LINE = /^([A-Z-]+ https?:\/\/[\x21-\x7e]+?)([/?][\x21-\x7e\x80-\xff]*)( HTTP\/1\.[01]\r?)$/i

const percentEncode = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

/**
 * The bytes of a request, from the beginning of its first line, with the bytes outside ASCII in its path and query
 * percent-encoded; undefined where that is not what is wrong with it. Node's parser takes no such bytes, and clients send them.
 * No byte of ASCII changes, so that the line ends where it ended.
 */
export function encodeUrl(packet: Buffer): Buffer | undefined {
  const end = packet.indexOf(LF)
  const match = end < 0 ? null : LINE.exec(packet.toString('latin1', 0, end))
  if (match === null) return undefined
  const [, before = '', path = '', after = ''] = match
  const line = before + path.replace(/[\x80-\xff]/g, percentEncode) + after
  return Buffer.concat([Buffer.from(line, 'latin1'), packet.subarray(end)])
}
