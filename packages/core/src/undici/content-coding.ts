/** Decodes the beginning of a body as text, according to its content coding; empty if the coding is not supported. */
export async function decodeBodyText(
  chunks: readonly Uint8Array[],
  coding: string | string[] | undefined,
  maxBytes: number,
): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let remainingBytes = maxBytes
  const append = (chunk: Uint8Array) => {
    text += decoder.decode(chunk.subarray(0, remainingBytes), { stream: true })
    remainingBytes = Math.max(0, remainingBytes - chunk.byteLength)
  }
  const name = [coding ?? 'identity'].flat().join(',').trim().toLowerCase()
  try {
    if (name === 'identity') chunks.forEach(append)
    else {
      const format = (name === 'x-gzip' ? 'gzip' : name) as CompressionFormat
      const source = new Blob(chunks as unknown as BlobPart[])
        .stream()
        .pipeThrough(new DecompressionStream(format))
      const reader = source.getReader()
      for (let part = await reader.read(); !part.done && remainingBytes > 0; part = await reader.read())
        append(part.value)
      await reader.cancel()
    }
  } catch {
    // The platform does not support the coding, or the body is truncated. The text decoded so far is used.
  }
  return text
}
