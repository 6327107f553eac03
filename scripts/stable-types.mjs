/** A union of string literals, which can have any other string as a member too. */
const STRING_UNION = /(?:"[\w./ -]*"|\(string & \{\}\))(?: \| (?:"[\w./ -]*"|\(string & \{\}\)))+/g

/**
 * Sorts what the compiler prints in another order after every build: the members of a union of strings whose type is inferred,
 * which have double quotes, and those of an enum of zod.
 *
 * @param {string} text
 */
export function sortTypeMembers(text) {
  return text
    .replace(/ZodEnum<\{\n([\s\S]*?)\n(\s*)\}>/g, (_, members, indent) => {
      const lines = members.split('\n').sort()
      return `ZodEnum<{\n${lines.join('\n')}\n${indent}}>`
    })
    .replace(/\(string & \{\}\) \| ([A-Z]\w*)/g, '$1 | (string & {})')
    .replace(STRING_UNION, (union) => union.split(' | ').sort().join(' | '))
}
