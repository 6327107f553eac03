import { createParser, type EventSourceMessage } from 'eventsource-parser'

/** Creates a function that takes the next piece of an event stream and returns the messages that are complete. */
export function createMessageParser(): (text: string) => EventSourceMessage[] {
  const messages: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (message) => messages.push(message) })
  return (text) => {
    parser.feed(text)
    return messages.splice(0)
  }
}
