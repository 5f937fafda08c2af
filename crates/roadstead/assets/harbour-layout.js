// Where things lie on the harbour chart.
//
// Units are those of the layout's own size. A course is a cubic curve from place to place; `label`
// is where its words stand, and `align` which side of them that point is.

export const LAYOUT = {
  width: 1000,
  height: 500,
  boxes: {
    new: [10, 76, 122, 80],
    active: [222, 56, 180, 120],
    inFlight: [560, 56, 190, 120],
    bound: [850, 56, 140, 120],
    backoff: [380, 232, 190, 116],
    gated: [10, 384, 180, 112],
    unschedulable: [540, 384, 210, 112],
    gone: [856, 396, 134, 84],
  },
  courses: {
    "new active": {
      curve: [132, 116, 160, 116, 190, 116, 222, 116],
      label: [177, 108],
      align: "centre above",
    },
    "new gated": { curve: [60, 156, 60, 220, 60, 300, 60, 384], label: [70, 262], align: "right" },
    "gated active": { curve: [190, 428, 262, 428, 250, 300, 250, 176], label: [240, 322], align: "left" },
    "active inFlight": {
      curve: [402, 104, 450, 104, 500, 104, 560, 104],
      label: [477, 96],
      align: "centre above",
    },
    "inFlight active": {
      curve: [600, 56, 590, 14, 370, 14, 350, 56],
      label: [477, 20],
      align: "centre above",
    },
    "inFlight bound": {
      curve: [750, 116, 780, 116, 820, 116, 850, 116],
      label: [800, 108],
      align: "centre above",
    },
    "inFlight unschedulable": {
      curve: [722, 176, 722, 240, 722, 310, 722, 384],
      label: [732, 272],
      align: "right",
    },
    "inFlight backoff": {
      curve: [625, 176, 625, 230, 622, 262, 570, 268],
      label: [633, 216],
      align: "right brief",
    },
    "backoff inFlight": {
      curve: [510, 232, 510, 190, 515, 152, 560, 148],
      label: [526, 198],
      align: "right low",
    },
    "backoff active": { curve: [440, 232, 440, 190, 440, 152, 402, 148], label: [430, 204], align: "left" },
    "unschedulable backoff": {
      curve: [625, 384, 625, 345, 622, 316, 570, 312],
      label: [616, 366],
      align: "left",
    },
    "unschedulable active": {
      curve: [540, 448, 400, 448, 310, 400, 310, 176],
      label: [532, 468],
      align: "left",
    },
    "unschedulable gated": {
      curve: [540, 489, 430, 493, 300, 493, 190, 489],
      label: [234, 486],
      align: "centre above bare",
    },
    "gated backoff": {
      curve: [190, 400, 270, 396, 330, 330, 380, 316],
      label: [296, 348],
      align: "left bare",
    },
    "unschedulable gone": {
      curve: [750, 432, 785, 432, 820, 432, 856, 432],
      label: [803, 424],
      align: "centre above",
    },
  },
};
