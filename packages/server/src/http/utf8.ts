const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** Decodes bytes as UTF-8; undefined where they are not valid. */
export function decodeUtf8(bytes: ArrayBuffer | Uint8Array): string | undefined {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    return undefined
  }
}
