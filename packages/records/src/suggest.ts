export { editDistance, suggest } from 'holdfast/internal'
