/** The maximum length of an item in an id: file systems limit names to 255 bytes, and stores encode the id once more. */
const MAX_ITEM_LENGTH = 80

/** Encodes an item for an id: letters, digits, `-_.!~*'()` and `%XX`, without two consecutive dots. */
export function encodeItem(item: string): string {
  const wellFormed = item.replace(
    /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g,
    '\uFFFD',
  )
  const encoded = encodeURIComponent(wellFormed).replace(/\.{2,}/g, (dots) => '%2E'.repeat(dots.length))
  return encoded.slice(0, MAX_ITEM_LENGTH).replace(/%.?$/, '')
}

/** `dlq_{yyyymmdd}_{hhmmss}_{item}_{random}`, in UTC. */
export function deadLetterId(at: Date, item: string, random: string): string {
  const [day, time] = at.toISOString().split('T') as [string, string]
  return `dlq_${day.replaceAll('-', '')}_${time.slice(0, 8).replaceAll(':', '')}_${encodeItem(item)}_${random}`
}
