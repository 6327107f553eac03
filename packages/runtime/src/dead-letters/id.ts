/** The longest an item may be in an id: file systems take names of 255 bytes, and stores encode once more. */
const MAX_ITEM_LENGTH = 80

/** An item as a part of an id: what may be in it is letters, digits, `-_.!~*'()` and `%XX`, and no two dots in a row. */
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
