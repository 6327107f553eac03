/** An error with these properties, like those of clients and drivers. */
export function shaped(properties: object, message = 'boom', options?: ErrorOptions): Error {
  return Object.assign(new Error(message, options), properties)
}

/** An error of a class with this name. */
export function named(name: string, options?: ErrorOptions): Error {
  return Object.defineProperty(new Error('boom', options), 'name', { value: name })
}
