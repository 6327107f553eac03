/** What of a body in pieces can be read as text, whatever coding it was sent with; empty where that is not known here. */
export async function decodeBodyText(
  pieces: readonly Uint8Array[],
  coding: string | string[] | undefined,
  maxBytes: number,
): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let remainingBytes = maxBytes
  const add = (piece: Uint8Array) => {
    text += decoder.decode(piece.subarray(0, remainingBytes), { stream: true })
    remainingBytes = Math.max(0, remainingBytes - piece.byteLength)
  }
  const name = [coding ?? 'identity'].flat().join(',').trim().toLowerCase()
  try {
    if (name === 'identity') pieces.forEach(add)
    else {
      const format = (name === 'x-gzip' ? 'gzip' : name) as CompressionFormat
      const source = new Blob(pieces as unknown as BlobPart[])
        .stream()
        .pipeThrough(new DecompressionStream(format))
      const reader = source.getReader()
      for (let part = await reader.read(); !part.done && remainingBytes > 0; part = await reader.read())
        add(part.value)
      await reader.cancel()
    }
  } catch {
    // A coding that the platform does not know, or a body that was cut off: what was read before is all there is.
  }
  return text
}
