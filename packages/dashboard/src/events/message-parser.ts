/** One message of an event stream. */
export interface StreamMessage {
  readonly id: string | undefined
  readonly data: string
}

/** Creates a parser of server-sent events. Chunks can end anywhere; comments and other fields are ignored. */
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
