/** One message of an event stream. */
export interface StreamMessage {
  readonly id: string | undefined
  readonly data: string
}

/** Cuts a stream of text into the messages it carries, however it comes in pieces. Comments and other fields are left out. */
export function createMessageParser(): (text: string) => StreamMessage[] {
  let rest = ''
  return (text) => {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop() as string
    return blocks.flatMap((block) => {
      let id: string | undefined
      const data: string[] = []
      for (const line of block.split('\n')) {
        if (line.startsWith('id:')) id = line.slice(3).trimStart()
        else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''))
      }
      return data.length === 0 ? [] : [{ id, data: data.join('\n') }]
    })
  }
}
