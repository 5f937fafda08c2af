// Where things lie on the harbour chart, on a wide screen and on a narrow one.
//
// Units are those of the layout's own size. A course is a cubic curve from place to place; `label`
// is where its words stand, and `align` which side of them that point is.

export const WIDE = {
  width: 1000,
  height: 500,
  boxes: {
    new: [10, 84, 100, 64],
    active: [205, 56, 190, 120],
    inFlight: [560, 56, 190, 120],
    bound: [850, 56, 140, 120],
    backoff: [380, 232, 190, 116],
    gated: [10, 384, 180, 112],
    unschedulable: [540, 384, 210, 112],
    gone: [870, 400, 110, 64],
  },
  courses: {
    "new active": {
      curve: [110, 116, 140, 116, 170, 116, 205, 116],
      label: [157, 108],
      align: "centre above",
    },
    "new gated": { curve: [60, 148, 60, 220, 60, 300, 60, 384], label: [70, 262], align: "right" },
    "gated active": { curve: [190, 428, 262, 428, 250, 300, 250, 176], label: [240, 322], align: "left" },
    "active inFlight": {
      curve: [395, 104, 450, 104, 500, 104, 560, 104],
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
    "backoff active": { curve: [440, 232, 440, 190, 435, 152, 395, 148], label: [430, 204], align: "left" },
    "unschedulable backoff": {
      curve: [625, 384, 625, 345, 622, 316, 570, 312],
      label: [616, 366],
      align: "left",
    },
    "unschedulable active": {
      curve: [540, 448, 400, 448, 310, 400, 310, 176],
      label: [440, 454],
      align: "centre below",
    },
    "unschedulable gone": {
      curve: [750, 432, 790, 432, 830, 432, 870, 432],
      label: [810, 424],
      align: "centre above",
    },
  },
};

export const NARROW = {
  width: 360,
  height: 590,
  boxes: {
    new: [10, 6, 130, 56],
    active: [10, 106, 140, 104],
    inFlight: [210, 106, 140, 104],
    bound: [210, 6, 140, 56],
    backoff: [110, 262, 140, 104],
    gated: [10, 420, 140, 104],
    unschedulable: [196, 420, 156, 104],
    gone: [210, 556, 130, 34],
  },
  courses: {
    "new active": { curve: [90, 62, 90, 75, 90, 90, 90, 106], label: [96, 86], align: "right" },
    "new gated": { curve: [10, 50, 2, 60, 2, 380, 22, 420], label: [14, 400], align: "none" },
    "gated active": { curve: [40, 420, 40, 340, 40, 280, 40, 210], label: [46, 300], align: "right" },
    "active inFlight": {
      curve: [150, 150, 170, 150, 190, 150, 210, 150],
      label: [180, 144],
      align: "centre above",
    },
    "inFlight active": {
      curve: [220, 106, 210, 84, 150, 84, 138, 106],
      label: [180, 84],
      align: "centre above",
    },
    "inFlight bound": { curve: [280, 106, 280, 92, 280, 76, 280, 62], label: [286, 86], align: "right" },
    "inFlight unschedulable": {
      curve: [325, 210, 325, 280, 325, 350, 325, 420],
      label: [320, 392],
      align: "left",
    },
    "inFlight backoff": { curve: [290, 210, 290, 260, 280, 300, 250, 304], label: [284, 280], align: "none" },
    "backoff inFlight": { curve: [220, 262, 220, 240, 240, 230, 240, 210], label: [240, 240], align: "none" },
    "backoff active": { curve: [140, 262, 140, 240, 120, 230, 120, 210], label: [146, 238], align: "right" },
    "unschedulable backoff": {
      curve: [240, 420, 240, 400, 230, 390, 225, 366],
      label: [246, 392],
      align: "none",
    },
    "unschedulable active": {
      curve: [196, 470, 150, 396, 80, 400, 70, 210],
      label: [120, 396],
      align: "none",
    },
    "unschedulable gone": {
      curve: [275, 524, 275, 535, 275, 545, 275, 556],
      label: [281, 544],
      align: "right",
    },
  },
};
